"""Manifest files, read and parsed once for many clusters.

Nothing that depends on a cluster is remembered, and a file that changed is read again.
"""

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kgitops.manifests.check import Written
from kgitops.manifests.yaml.parse import parse
from kgitops.manifests.yaml.text import SourceText, read_text
from kgitops.model.source import Finding

Item = Written | Finding
Stamp = tuple[int, int, int]
Key = tuple[int, int, str]

_SETTLED_NS = 1_000_000_000


@dataclass(slots=True)
class _Book:
    stamp: Stamp
    text: SourceText
    documents: tuple[Item, ...] | None = None
    used: int = 0


class Library:
    """What was read of files, as long as they stay as they are.

    ``max_characters`` bounds the texts that are remembered (what is parsed of one takes some ten
    times as much memory); 0 remembers nothing. What does not fit is read every time: only what was
    not used since the last two calls of ``begin`` makes room, so that a project that is larger than
    the library does not push itself out over and over.
    """

    def __init__(self, max_characters: int = 0) -> None:
        self._room = max_characters
        self._books: OrderedDict[Key, _Book] = OrderedDict()
        self._by_text: dict[int, _Book] = {}
        self._round = 0
        self._keeps = max_characters > 0

    def begin(self) -> None:
        """Another cluster is loaded from here on."""
        self._round += 1

    def text(self, path: Path, name: str) -> SourceText | Finding:
        """As ``text.read_text``; the same value as before where the file is the same."""
        if not self._keeps:
            return read_text(path, name)
        # Looked at before it is read: what is written meanwhile has another stamp the next time.
        found = _look(path)
        if found is None:
            return read_text(path, name)
        key, stamp = _key(found, name), _stamp(found)
        book = self._books.get(key)
        if book is not None and book.stamp == stamp:
            book.used = self._round
            self._books.move_to_end(key)
            return book.text
        if book is not None:
            self._forget(key)
        text = read_text(path, name)
        if isinstance(text, SourceText):
            self._keep(key, _Book(stamp, text, used=self._round), len(text.text))
        return text

    def documents(self, file: SourceText) -> Iterable[Item]:
        """The documents of ``file`` and what is wrong with its YAML, in order."""
        book = self._by_text.get(id(file))
        if book is None:
            return _documents(file)
        if book.documents is None:
            book.documents = tuple(_documents(file))
        return book.documents

    def _keep(self, key: Key, book: _Book, size: int) -> None:
        while self._room < size and self._books:
            oldest = next(iter(self._books))
            if self._books[oldest].used >= self._round - 1:
                return
            self._forget(oldest)
        if size <= self._room:
            self._room -= size
            self._books[key] = book
            self._by_text[id(book.text)] = book

    def _forget(self, key: Key) -> None:
        book = self._books.pop(key)
        del self._by_text[id(book.text)]
        self._room += len(book.text.text)


READ_ONCE = Library()
"""Remembers nothing: for commands that load each file for one cluster."""


def _documents(file: SourceText) -> Iterator[Item]:
    findings: list[Finding] = []
    for parsed in parse(file, findings):
        yield from findings
        findings.clear()
        yield Written(parsed)
    yield from findings


def _look(path: Path) -> os.stat_result | None:
    """What is known of a file; None where it may change without a trace."""
    try:
        found = path.stat()
    except OSError:
        return None  # reading it will say why
    # Within a tick of its file system's clock a file may change twice.
    is_settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS
    return found if stat.S_ISREG(found.st_mode) and is_settled else None


def _key(found: os.stat_result, name: str) -> Key:
    return found.st_dev, found.st_ino, name


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size
