"""Reading passwords from where they are: the environment, a file, or a program's output."""

import os
import time
from pathlib import Path

from kgitops.apply.secrets.commands import (
    MOST_BYTES,
    MOST_SECONDS,
    find_program,
    output_of,
    read_to_end,
)
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import GeneratedPassword, PasswordSource


def source_problem(source: PasswordSource, base: Path) -> str | None:
    """Explain why no password can come from the source; None where one may be there.

    No program is started and nothing is written. A file that is not a regular one, such as a pipe,
    is not read ahead.
    """
    if source.env is not None:
        return None if os.environ.get(source.env) else f"{_named(source)} is not set or empty"
    if source.file is not None:
        return _file_problem(base / source.file, source)
    if source.command is not None:
        return _program_problem(source.command, base)
    if source.generate is not None:
        return _sink_problem(source.generate, base)
    return "it has no password source"


def read_secret(source: PasswordSource, base: Path) -> Secret:
    """Read the password; relative paths begin at ``base``.

    Raises:
        KgitopsError: it is missing, empty, or not one line of text.
    """
    if source.env is not None:
        secret = Secret(os.environb.get(os.fsencode(source.env), b""))
    elif source.file is not None:
        secret = _without_line_break(_read_file(base / source.file, source))
    elif source.command is not None:
        secret = _without_line_break(output_of(source.command, base))
    else:
        raise KgitopsError(
            "no password source; write password.env, password.file or password.command"
        )
    if problem := _content_problem(secret):
        raise KgitopsError(f"{_named(source)} {problem}; correct what it holds")
    return secret


def _named(source: PasswordSource) -> str:
    return f"the {source}" if source.env is None else f"the environment variable {source.env}"


def _content_problem(secret: Secret) -> str | None:
    raw: bytes = secret.reveal()
    if not raw:
        return "holds no password"
    if b"\n" in raw or b"\r" in raw or b"\0" in raw:
        return "holds more than one line"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return None


def _without_line_break(secret: Secret) -> Secret:
    return Secret(secret.reveal().removesuffix(b"\n").removesuffix(b"\r"))


def _file_problem(path: Path, source: PasswordSource) -> str | None:
    if not path.exists():
        return f"{_named(source)} does not exist"
    if not os.access(path, os.R_OK):
        return f"{_named(source)} can't be read"
    if path.is_dir():
        return f"{_named(source)} is a folder"
    if not path.is_file():
        return None
    try:
        return _described(_content_problem(_without_line_break(_read_file(path, source))), source)
    except KgitopsError as error:
        return str(error)


def _described(problem: str | None, source: PasswordSource) -> str | None:
    return None if problem is None else f"{_named(source)} {problem}"


def _read_file(path: Path, source: PasswordSource) -> Secret:
    """Read the file; a pipe has as long for its content as a program for its output."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = read_to_end(file, time.monotonic() + MOST_SECONDS)
        finally:
            os.close(file)
    except TimeoutError:
        raise KgitopsError(
            f"{_named(source)} is a pipe that did not end within {MOST_SECONDS:g} s; look at the "
            "program that writes it"
        ) from None
    except OSError as error:
        raise KgitopsError(
            f"{_named(source)} can't be read: {error.strerror}; correct it"
        ) from None
    if len(content.reveal()) > MOST_BYTES:
        raise KgitopsError(f"{_named(source)} holds more than a password; correct it")
    return content


def _program_problem(command: tuple[str, ...], base: Path) -> str | None:
    if find_program(command, base) is None:
        return f"the program {command[0]} can't be found or started"
    return None


def _sink_problem(generated: GeneratedPassword, base: Path) -> str | None:
    if generated.command is not None:
        return _program_problem(generated.command, base)
    path = base / (generated.file or "")
    if path.is_dir():
        return f"{generated.file}, which is to hold the generated password, is a folder"
    if not os.access(path.parent, os.W_OK):
        return f"the folder of {generated.file}, for the generated password, can't be written to"
    return None
