"""Users who log in by SCRAM: their mechanisms, and where the passwords come from, never one."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384
"""The iterations that Kafka's controllers accept."""
DEFAULT_ITERATIONS = 8192
MIN_GENERATED, MAX_GENERATED, DEFAULT_GENERATED = 16, 256, 32
"""The lengths of generated passwords."""


class ScramMechanism(StrEnum):
    """A mechanism of SCRAM, by its SASL name."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"

    @property
    def hash_name(self) -> str:
        """Its hash function, by hashlib's name."""
        return "sha256" if self is ScramMechanism.SHA_256 else "sha512"


ScramIterations = Mapping[ScramMechanism, int]
"""The mechanisms that a user can log in by, with their iterations: all that Kafka tells."""


class FoundUser(Struct, frozen=True, kw_only=True):
    """A user who logs in by SCRAM, with the iterations of each mechanism; there is at least one."""

    name: str
    held: ScramIterations


def found_users(users: Mapping[str, ScramIterations]) -> list[FoundUser]:
    """Users by name."""
    return [FoundUser(name=name, held=held) for name, held in users.items() if held]


class GeneratedPassword(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A password that an apply makes up: a ``file``, or a ``command``'s standard input, gets it."""

    length: int = DEFAULT_GENERATED
    file: str | None = None
    command: tuple[str, ...] | None = None

    def __str__(self) -> str:
        to = f"the file {self.file}" if self.command is None else _command_text(self.command)
        return f"generated, {self.length} characters, to {to}"


class PasswordSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The place of a password; none of the fields is set where that is unknown.

    ``env`` is the name of an environment variable, ``file`` a path as it is written, ``command`` a
    program with its arguments, which prints the password.
    """

    env: str | None = None
    file: str | None = None
    command: tuple[str, ...] | None = None
    generate: GeneratedPassword | None = None

    @property
    def known(self) -> bool:
        """False where the password has no source, as after an export."""
        return self != UNKNOWN_PASSWORD

    @property
    def acts(self) -> bool:
        """True if reading it starts a program or writes a file."""
        return self.command is not None or self.generate is not None

    def __str__(self) -> str:
        """The source for people, without what it holds."""
        if self.env is not None:
            return f"env {self.env}"
        if self.file is not None:
            return f"file {self.file}"
        if self.command is not None:
            return _command_text(self.command)
        return "unknown" if self.generate is None else str(self.generate)


UNKNOWN_PASSWORD = PasswordSource()


def _command_text(command: tuple[str, ...]) -> str:
    return f"command {' '.join(map(repr, command))}"


def user_principal(name: str) -> str:
    """The principal of a user who logs in by this name."""
    return f"User:{name}"
