"""Manifest files, read and parsed once for many clusters.

Nothing that depends on a cluster is kept, and a file that has changed is read again.
"""

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from kgitops.manifests.check import RawDocument
from kgitops.manifests.lists import documents_of
from kgitops.manifests.yaml.parse import parse
from kgitops.manifests.yaml.text import SourceText, read_text
from kgitops.model.source import Finding

Item = RawDocument | Finding
Stamp = tuple[int, int, int]
Key = tuple[int, int, str]

_SETTLED_NS = 1_000_000_000


class _Entry(Struct):
    stamp: Stamp
    text: SourceText
    documents: tuple[Item, ...] | None = None
    last_used: int = 0


class ManifestCache:
    """Remembers the texts and documents of files for as long as the files stay as they are.

    ``max_characters`` bounds the texts that are kept (the parsed documents take some ten times as
    much memory); 0 keeps nothing. A file that does not fit is read every time: only entries unused
    since the last two calls of ``next_cluster`` make room, so that a project larger than the cache
    does not push itself out over and over.
    """

    def __init__(self, max_characters: int = 0) -> None:
        self._room = max_characters
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._by_text: dict[int, _Entry] = {}
        self._round = 0
        self._is_enabled = max_characters > 0

    def next_cluster(self) -> None:
        """Note that another cluster is loaded from here on."""
        self._round += 1

    def text(self, path: Path, name: str) -> SourceText | Finding:
        """As ``text.read_text``; the same value as before if the file is the same."""
        if not self._is_enabled:
            return read_text(path, name)
        # Stat comes before reading: a file written meanwhile has another stamp the next time.
        status = _settled_status(path)
        if status is None:
            return read_text(path, name)
        key, stamp = _key(status, name), _stamp(status)
        entry = self._entries.get(key)
        if entry is not None and entry.stamp == stamp:
            entry.last_used = self._round
            self._entries.move_to_end(key)
            return entry.text
        if entry is not None:
            self._drop(key)
        text = read_text(path, name)
        if isinstance(text, SourceText):
            self._add(key, _Entry(stamp, text, last_used=self._round), len(text.text))
        return text

    def documents(self, file: SourceText) -> Iterable[Item]:
        """The documents of ``file`` and the findings about its YAML, in order."""
        entry = self._by_text.get(id(file))
        if entry is None:
            return _documents(file)
        if entry.documents is None:
            entry.documents = tuple(_documents(file))
        return entry.documents

    def _add(self, key: Key, entry: _Entry, size: int) -> None:
        while self._room < size and self._entries:
            oldest = next(iter(self._entries))
            if self._entries[oldest].last_used >= self._round - 1:
                return
            self._drop(oldest)
        if size <= self._room:
            self._room -= size
            self._entries[key] = entry
            self._by_text[id(entry.text)] = entry

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key)
        del self._by_text[id(entry.text)]
        self._room += len(entry.text.text)


NO_CACHE = ManifestCache()
"""Keeps nothing: for commands that load each file for one cluster."""


def _documents(file: SourceText) -> Iterator[Item]:
    findings: list[Finding] = []
    for parsed in parse(file, findings):
        yield from findings
        findings.clear()
        for item in documents_of(parsed):
            yield item if isinstance(item, Finding) else RawDocument(item)
    yield from findings


def _settled_status(path: Path) -> os.stat_result | None:
    """The status of a file; None if the file could change without another stamp."""
    try:
        status = path.stat()
    except OSError:
        return None  # reading it will say why
    # Within a tick of its file system's clock a file may change twice.
    is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
    return status if stat.S_ISREG(status.st_mode) and is_settled else None


def _key(status: os.stat_result, name: str) -> Key:
    return status.st_dev, status.st_ino, name


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
