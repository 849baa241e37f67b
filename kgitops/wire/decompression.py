"""Decompresses the records of a batch, up to a limit: a small batch may hold very many zeros."""

import importlib
import zlib
from collections.abc import Callable
from typing import Any

from kgitops.wire.errors import MalformedError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
MOST_BYTES = 64 * 1024 * 1024
"""Of the records of one batch. By default a batch has at most 1 MB, compressed."""
_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER_BYTES = 16


class UnknownCodecError(Exception):
    """Nothing here can decompress the records."""


def decompressed(codec: int, data: bytes) -> bytes:
    """The records as they were before they were compressed.

    Raises:
        MalformedError: they can't be read, or are too many.
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
    unpacker = zlib.decompressobj(wbits=31)
    found = unpacker.decompress(data, MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise _too_many()
    return found


def _unpack_zstd(data: bytes) -> bytes:
    # Its other functions set aside what the data announces.
    with _library("zstandard").ZstdDecompressor().stream_reader(data) as reader:
        found: bytes = reader.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise _too_many()
    return found


def _unpack_lz4(data: bytes) -> bytes:
    unpacker = _library("lz4.frame").LZ4FrameDecompressor()
    found: bytes = unpacker.decompress(data, max_length=MOST_BYTES)
    if not unpacker.eof:
        raise _too_many()
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


def _too_many() -> MalformedError:
    return MalformedError(f"the records of a batch are more than {MOST_BYTES} bytes")


_UNPACKERS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: _gunzip,
    SNAPPY: _unpack_snappy,
    LZ4: _unpack_lz4,
    ZSTD: _unpack_zstd,
}
