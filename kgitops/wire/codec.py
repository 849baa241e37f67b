"""Reads and writes messages, strictly, in any version whose fields are known."""

import struct
from functools import cache
from typing import TypeVar

import msgspec

from kgitops.wire.definitions import MessageDefinition, definition
from kgitops.wire.errors import MalformedError, UnwritableMessageError
from kgitops.wire.reading import MOST_ELEMENTS, Reader, make_reader
from kgitops.wire.writing import Writer, Written, make_writer

T = TypeVar("T", bound=msgspec.Struct)


def read(kind: type[T], version: int, data: bytes, at: int = 0) -> T:
    """Read the message that begins at a position and takes all the rest.

    Raises:
        MalformedError: the bytes are something else, or more.
    """
    value, after = read_part(kind, version, data, at)
    if after != len(data):
        raise MalformedError(
            f"{kind.__name__} version {version}: {len(data) - after} bytes follow it"
        )
    return value


def read_part(
    kind: type[T], version: int, data: bytes, at: int = 0, *, most: int = MOST_ELEMENTS
) -> tuple[T, int]:
    """Read the message that begins at a position; also tell the position after it.

    A request may have ``most`` elements in all arrays together.

    Raises:
        MalformedError: the bytes are something else.
    """
    try:
        value, after = _reader(kind.__name__, version)(data, at, most)
    except (IndexError, struct.error):
        problem = "it ends early"
    except UnicodeDecodeError:
        problem = "a text is not UTF-8"
    except MalformedError as error:
        problem = str(error)
    else:
        return value, after  # type: ignore[return-value]
    raise MalformedError(f"{kind.__name__} version {version}: {problem}")


def write(value: msgspec.Struct, version: int) -> bytearray:
    """The bytes of a message in a version.

    Raises:
        UnwritableMessageError: the version has no place for a field that is set, a field is null
            that may not be, or a number or a text is too large.
    """
    name = type(value).__name__
    try:
        return _writer(name, version)(value)
    except (struct.error, UnicodeEncodeError) as error:
        raise UnwritableMessageError(f"{name} version {version}: {error}") from error


def write_part(value: msgspec.Struct, message: str, version: int) -> Written:
    """The bytes of a struct of an array, to stand for it in a message that is written later.

    Raises:
        UnwritableMessageError: as for ``write``.
    """
    name = type(value).__name__
    try:
        return Written(_part_writer(message, version, name)(value))
    except (struct.error, UnicodeEncodeError) as error:
        raise UnwritableMessageError(f"{message} version {version}: {name}: {error}") from error


@cache
def _reader(name: str, version: int) -> Reader:
    return make_reader(_known(name, version), version)


@cache
def _writer(name: str, version: int) -> Writer:
    return make_writer(_known(name, version), version)


@cache
def _part_writer(message: str, version: int, part: str) -> Writer:
    return make_writer(_known(message, version), version, part)


def _known(name: str, version: int) -> MessageDefinition:
    message = definition(name)
    if version not in message.readable:
        raise MalformedError(f"{name} has no version {version}")
    return message
