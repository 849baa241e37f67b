"""The registry topic ``__kgitops`` behind the port: its readers, its one writer, its clock."""

import time
from collections.abc import Mapping, Sequence

from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.registry.append import (
    Entries,
    MovedAwayError,
    Written,
    append_batch,
)
from kgitops.cluster.kafka.registry.reader import RegistryReader
from kgitops.cluster.kafka.registry.topic import PATIENCE_S, POLL_S, create_topic
from kgitops.cluster.kafka.registry.transactions import Transactions
from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, meta_record
from kgitops.model.errors import UnreachableError
from kgitops.model.registry import META_KEY, RegistryState
from kgitops.model.resources.names import REGISTRY_TOPIC


class KafkaRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on one compacted topic.

    It is read and, by contenders, written over the wire; only the one writer that :meth:`fence`
    makes is librdkafka's, which knows transactions (docs/decisions/0008).
    """

    def __init__(
        self, wire: Wire, configs: Mapping[str, str], patience_s: float = PATIENCE_S
    ) -> None:
        self._wire = wire
        self._configs = configs
        self._patience_s = patience_s
        self._reader = RegistryReader(wire, patience_s)
        self._writer: Transactions | None = None
        self._written: Written | None = None
        self._there: bool | None = None
        self._newest_ms = 0
        self._state: RegistryState | None = None

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Every committed entry at or after ``since``; None when there is no registry.

        What this log has appended is waited for. Aborted transactions are skipped, and the marks
        of transactions take up offsets, so that there are gaps.
        """
        return self._noted(self._reader.read(since, self._until))

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """The same, with entries that can't be read among them; also without a meta record."""
        return self._noted(self._reader.scan(since, self._until))

    @property
    def _until(self) -> int:
        return self._written.offset + 1 if self._written else 0

    def _noted(self, entries: Sequence[RegistryEntry] | None) -> Sequence[RegistryEntry] | None:
        self._there = entries is not None
        for entry in entries or ():
            self._newest_ms = max(self._newest_ms, entry.timestamp_ms)
        return entries

    def read_state(self) -> RegistryState | None:
        """What the entries add up to, the topic's id included; None when there is no registry."""
        known = self._state
        entries = self.read(known.offset + 1 if known else 0)
        if entries is None or self._reader.topic is None:
            self._state = None
        else:
            topic_id = uuid_to_text(self._reader.topic.topic_id)
            self._state = build_registry_state(entries, topic_id, before=known)
        return self._state

    def append(self, entries: Entries) -> int:
        """Write all entries or none, creating the topic first; the last one's offset.

        Before :meth:`fence` as one batch, after it as one transaction.
        """
        if entries:
            writer = self._writer
            written = writer.append(entries, ticks()) if writer else self._contend(entries)
            self._newest_ms = max(self._newest_ms, written.timestamp_ms)
            self._written = written
        return self._written.offset if self._written else -1

    def fence(self) -> None:
        """Be the only writer from now on: an earlier writer's next append fails."""
        self.unfence()
        self._writer = Transactions(self._configs, self._patience_s)

    def unfence(self) -> None:
        """Be one contender among others again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def now_ms(self) -> int:
        """The clock of the log: the brokers' time, carried on by this process's own ticks.

        It is set by the newest append of this log, so the clock of this machine may be wrong by
        any amount; only before the first append it has to do. It is ahead of the brokers by the
        time that the append took, so that a lease is never thought to last longer than it does.
        """
        if self._written is None:
            return max(self._newest_ms, int(time.time() * 1000))
        since = int((ticks() - self._written.sent_at) * 1000)
        return max(self._newest_ms, self._written.timestamp_ms + since)

    def ticks_at(self, moment_ms: int) -> float:
        """When the log's clock will show ``moment_ms``, in seconds of ``lease.ticks``.

        This process may stand still between two lines: that makes the answer earlier, never later.
        """
        now = ticks()
        return now + (moment_ms - self.now_ms()) / 1000

    def close(self) -> None:
        """Release the connections."""
        self.unfence()

    def _contend(self, entries: Entries) -> Written:
        """Append as one among others; nothing is sent twice whose outcome is unknown."""
        if self._there is None:
            self.read()
        if not self._there and all(key != META_KEY for key, _ in entries):
            entries = (meta_record(), *entries)
        deadline = time.monotonic() + self._patience_s
        while True:
            topic = self._reader.topic or self._reader.find()
            if topic is None:
                topic = self._reader.topic = create_topic(self._wire)
            try:
                written = append_batch(self._wire, topic, entries, ticks())
            except MovedAwayError as error:
                self._reader.topic = None
                if time.monotonic() >= deadline:
                    raise UnreachableError(
                        f"the registry {REGISTRY_TOPIC} can't be written: {error}; see that the "
                        "brokers run, then try again"
                    ) from error
                time.sleep(POLL_S)
            else:
                self._there = True
                return written
