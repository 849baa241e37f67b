"""A registry's log in memory, whose cluster can be made to fail."""

from collections.abc import Iterable, Sequence

from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import meta_record
from kgitops.lowering.records import RecordStatus, link_record, user_record, virtual_cluster_record
from kgitops.model.errors import KgitopsError
from kgitops.model.json.records import Record
from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink

ID = "FQm1fG6LQ5yB2BLBVZcmYA"
OTHER_ID = "__79_Pv6-fj39vX08_Lx8A"


def a_link(
    name: str, topic: str, *, of: str = "v", topic_id: str | None = ID, **more: RecordStatus
) -> Record:
    return link_record(of, TopicLink(name=name, topic=topic, topic_id=topic_id), **more)


def a_virtual_cluster(name: str = "v") -> Record:
    return virtual_cluster_record(name, LoweringOptions())


def a_user(principal: str, *, of: str = "v", **more: RecordStatus) -> Record:
    return user_record(of, principal, **more)


class Log:
    """The log, and connections to it; ``failure`` is raised by the next calls of any of them."""

    def __init__(self, *records: Record) -> None:
        self.entries: list[RegistryEntry] = []
        self.topic: str | None = "one"
        self.failure: Exception | None = None
        self.opened = 0
        self.closed = 0
        self.reads: list[int] = []
        self.append(meta_record(), *records)

    def append(self, *records: Record) -> None:
        """Offsets have gaps, as after transaction markers."""
        for key, value in records:
            offset = self.entries[-1].offset + 2 if self.entries else 0
            self.entries.append(RegistryEntry(offset=offset, key=key, value=value, timestamp_ms=0))

    def forget(self, keys: Iterable[str]) -> None:
        """What compaction does to removals after some days."""
        gone = set(keys)
        self.entries = [entry for entry in self.entries if entry.key not in gone]

    def connect(self) -> "Connection":
        if self.failure is not None:
            raise self.failure
        self.opened += 1
        return Connection(self)


class Connection:
    def __init__(self, log: Log) -> None:
        self._log = log

    def topic_id(self) -> str | None:
        if self._log.failure is not None:
            raise self._log.failure
        return self._log.topic

    def read(self, since: int) -> Sequence[RegistryEntry] | None:
        if self._log.failure is not None:
            raise self._log.failure
        self._log.reads.append(since)
        if self._log.topic is None:
            return None
        return [entry for entry in self._log.entries if entry.offset >= since]

    def close(self) -> None:
        self._log.closed += 1


class Broken(KgitopsError):  # noqa: N818
    """What a cluster that is away raises."""
