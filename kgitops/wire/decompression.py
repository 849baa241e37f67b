"""Decompresses the records of a batch, up to a limit: a small batch may hold very many zeros."""

import importlib
import zlib
from collections.abc import Callable
from typing import Any

from kgitops.wire.errors import MalformedError, TooLargeError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
MOST_BYTES = 64 * 1024 * 1024
"""Of the records of one batch. By default a batch has at most 1 MB, compressed."""
_GZIP = b"\x1f\x8b"
_ZSTD_PIECE = 512
_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER_BYTES = 16


class UnknownCodecError(Exception):
    """Nothing here can decompress the records."""


def decompressed(codec: int, data: bytes) -> bytes:
    """The records as they were before they were compressed.

    Raises:
        MalformedError: they can't be read.
        TooLargeError: they are too many.
        UnknownCodecError: the codec's library is not installed.
    """
    if codec == NONE:
        return data
    unpack = _UNPACKERS.get(codec)
    if unpack is None:
        raise MalformedError(f"there is no codec {codec}")
    try:
        return unpack(data)
    except (MalformedError, UnknownCodecError):
        raise
    except Exception as error:
        raise MalformedError(f"the records of a batch can't be decompressed: {error}") from error


def _gunzip(data: bytes) -> bytes:
    """All members; Java passes over whatever else follows the first one."""
    found, rest = b"", data
    while not found or rest.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        found += unpacker.decompress(rest, MOST_BYTES + 1 - len(found))
        if len(found) > MOST_BYTES:
            raise _too_many()
        if not unpacker.eof:
            raise _cut()
        rest = unpacker.unused_data
    return found


def _unpack_zstd(data: bytes) -> bytes:
    """All frames, in small pieces: a few bytes may become 128 KiB."""
    library, found, rest = _library("zstandard"), bytearray(), data
    while rest:
        unpacker = library.ZstdDecompressor().decompressobj()
        at = 0
        while at < len(rest) and not unpacker.eof:
            found += unpacker.decompress(rest[at : at + _ZSTD_PIECE])
            at += _ZSTD_PIECE
            if len(found) > MOST_BYTES:
                raise _too_many()
        if not unpacker.eof:
            raise _cut()
        rest = unpacker.unused_data + rest[at:]
    return bytes(found)


def _unpack_lz4(data: bytes) -> bytes:
    unpacker = _library("lz4.frame").LZ4FrameDecompressor()
    found: bytes = unpacker.decompress(data, max_length=MOST_BYTES)
    if not unpacker.eof:
        raise _cut() if unpacker.needs_input else _too_many()
    return found


def _unpack_snappy(data: bytes) -> bytes:
    """Of Java's clients: blocks with their sizes; or one block, of which each tells its length."""
    library = _library("snappy")
    if not data.startswith(_XERIAL):
        blocks = [data]
    else:
        blocks, at = [], _XERIAL_HEADER_BYTES
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            blocks.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        if at != len(data):
            raise _cut()
    if sum(map(_announced, blocks)) > MOST_BYTES:
        raise _too_many()
    return b"".join(map(library.decompress, blocks))


def _announced(block: bytes) -> int:
    """The length that a block of snappy begins with, seven bits a byte."""
    value = 0
    for index, byte in enumerate(block[:5]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            break
    return value


def _library(name: str) -> Any:  # noqa: ANN401 - it may not be installed
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnknownCodecError(name) from None


def _cut() -> MalformedError:
    return MalformedError("the compressed records of a batch end early")


def _too_many() -> TooLargeError:
    return TooLargeError(f"the records of a batch are more than {MOST_BYTES} bytes")


_UNPACKERS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: _gunzip,
    SNAPPY: _unpack_snappy,
    LZ4: _unpack_lz4,
    ZSTD: _unpack_zstd,
}
