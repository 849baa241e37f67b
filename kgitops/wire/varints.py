"""Unsigned variable-length integers (KIP-482): seven bits a byte, the lowest first."""

from kgitops.wire.errors import MalformedError

_LARGEST = 0x7FFFFFFF


def read_uvarint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it.

    Raises:
        IndexError: the data end before the number does.
        MalformedError: the number is longer or larger than Kafka's.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise MalformedError("a length takes more than five bytes")
    if value > _LARGEST:
        raise MalformedError(f"a length is {value}")
    return value, at


def skip_tags(data: bytes | bytearray, at: int) -> int:
    """The position after tagged fields.

    Raises:
        IndexError: the data end before the tagged fields do.
        MalformedError: a number is longer or larger than Kafka's.
    """
    count, at = read_uvarint(data, at)
    for _ in range(count):
        _, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        at += size
    return at


def uvarint(value: int) -> bytes:
    """The bytes of a number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
