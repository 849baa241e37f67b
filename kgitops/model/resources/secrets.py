"""Values that must not be seen: they have no text, can't be pickled, and compare by identity."""

from typing import NoReturn


class Hidden:
    """Base of the values that are never shown, stored or passed to another process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is not to leave this process")

    def __copy__(self) -> "Hidden":
        return self

    def __deepcopy__(self, _: object) -> "Hidden":
        return self


class Revealed(Hidden, bytes):
    """The bytes of a secret, which a log, an error or a traceback's variables still don't show."""

    __slots__ = ()


class Secret(Hidden):
    """A password in UTF-8."""

    __slots__ = ("_password",)

    def __init__(self, password: bytes) -> None:
        self._password = Revealed(password)

    def reveal(self) -> Revealed:
        """The password itself, for the one place that hashes it or logs in with it."""
        return self._password


class SaltedPassword(Hidden):
    """A salt and the password hashed with it: as good as the password for whoever has it."""

    __slots__ = ("_salt", "_salted")

    def __init__(self, salt: bytes, salted: bytes) -> None:
        self._salt, self._salted = Revealed(salt), Revealed(salted)

    def reveal(self) -> tuple[Revealed, Revealed]:
        """The salt and the salted password, for the one place that sends them."""
        return self._salt, self._salted
