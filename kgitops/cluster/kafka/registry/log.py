"""The registry port, implemented on the topic ``__kgitops``: reader, only writer, and clock."""

import time
from collections.abc import Sequence

from kgitops.cluster.kafka.configs.client_configs import LibrdkafkaConfigs
from kgitops.cluster.kafka.coordinators import await_transactional, is_transactional
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.registry.append import (
    AppendResult,
    Entries,
    NotLeaderError,
    append_batch,
)
from kgitops.cluster.kafka.registry.reader import RegistryReader
from kgitops.cluster.kafka.registry.topic import POLL_S, TIMEOUT_S, create_topic
from kgitops.cluster.kafka.registry.transactions import TRANSACTIONAL_ID, Transactions
from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, meta_record
from kgitops.model.errors import UnreachableError
from kgitops.model.registry import META_KEY, RegistryState
from kgitops.model.resources.names import REGISTRY_TOPIC


class KafkaRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on one compacted topic.

    It is read over the wire, and contenders write it over the wire. Only the one writer that
    :meth:`fence` creates is librdkafka's, which supports transactions (docs/decisions/0008).
    """

    def __init__(
        self, wire: Wire, configs: LibrdkafkaConfigs, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._wire = wire
        self._configs = configs
        self._timeout_s = timeout_s
        self._reader = RegistryReader(wire, timeout_s)
        self._writer: Transactions | None = None
        self._last_append: AppendResult | None = None
        self._exists: bool | None = None
        self._newest_ms = 0
        self._state: RegistryState | None = None
        self._whole: Sequence[RegistryEntry] = ()

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Read every committed entry from ``since`` on; None when there is no registry.

        Reading waits for the entries that this log has appended. Aborted transactions are skipped,
        and transaction markers take up offsets, so there are gaps.
        """
        entries = self._observe(self._reader.read(since, self._until))
        if since == 0 and self._state is None:
            self._whole = entries or ()
        return entries

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """As :meth:`read`, including unreadable entries; a meta record is not required."""
        return self._observe(self._reader.scan(since, self._until))

    @property
    def _until(self) -> int:
        return self._last_append.offset + 1 if self._last_append else 0

    def _observe(self, entries: Sequence[RegistryEntry] | None) -> Sequence[RegistryEntry] | None:
        self._exists = entries is not None
        for entry in entries or ():
            self._newest_ms = max(self._newest_ms, entry.timestamp_ms)
        return entries

    def read_state(self) -> RegistryState | None:
        """Build the state of the registry from its entries; None when there is no registry."""
        before, whole = self._state, self._whole
        # What was read as a whole a moment ago is not asked for again.
        last = before.offset if before else whole[-1].offset if whole else -1
        entries = self.read(last + 1)
        self._whole = ()
        if entries is not None and before is None:
            entries = (*whole, *entries)
        if entries is None or self._reader.topic is None:
            self._state = None
        else:
            topic_id = uuid_to_text(self._reader.topic.topic_id)
            self._state = build_registry_state(entries, topic_id, before=before)
        return self._state

    def topic_id(self) -> str | None:
        """The id of the topic that was read or written last."""
        if self._exists is None:
            self.read()
        topic = (self._reader.topic or self._reader.find()) if self._exists else None
        return None if topic is None else uuid_to_text(topic.topic_id)

    def append(self, entries: Entries) -> int:
        """Write all entries or none, creating the topic first; return the last one's offset.

        Before :meth:`fence` they are one batch, afterwards one transaction.
        """
        if entries:
            writer = self._writer
            written = writer.append(entries, ticks()) if writer else self._contend(entries)
            self._newest_ms = max(self._newest_ms, written.timestamp_ms)
            self._last_append = written
        return self._last_append.offset if self._last_append else -1

    def fence(self) -> None:
        """Become the only writer: an earlier writer's next append fails."""
        self.unfence()
        # Asked before there is a coordinator, librdkafka asks again only after half a second.
        await_transactional(self._wire, TRANSACTIONAL_ID, self._timeout_s)
        self._writer = Transactions(self._configs, self._wire.principal, self._timeout_s)

    def unfence(self) -> None:
        """Become one contender among others again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def now_ms(self) -> int:
        """Return the log's time: the brokers' time, advanced by this process's own ticks.

        The newest append of this log sets it, so the clock of this machine may be wrong by any
        amount; it is used only before the first append. The log's time is ahead of the brokers by
        the duration of the append, so a lease is never thought to last longer than it does.
        """
        if self._last_append is None:
            return max(self._newest_ms, int(time.time() * 1000))
        since = int((ticks() - self._last_append.sent_at) * 1000)
        return max(self._newest_ms, self._last_append.timestamp_ms + since)

    def ticks_at(self, moment_ms: int) -> float:
        """Convert a time of the log's clock into seconds of ``lease.ticks``.

        A suspension of this process between two lines makes the answer earlier, never later.
        """
        now = ticks()
        return now + (moment_ms - self.now_ms()) / 1000

    def close(self) -> None:
        """Release the connections."""
        self.unfence()

    def _contend(self, entries: Entries) -> AppendResult:
        """Append as one contender; a batch whose outcome is unknown is never sent twice."""
        if self._exists is None:
            self.read()
        if not self._exists and all(key != META_KEY for key, _ in entries):
            entries = (meta_record(), *entries)
        deadline = time.monotonic() + self._timeout_s
        while True:
            topic = self._reader.topic or self._reader.find()
            if topic is None:
                # On a new cluster nobody has used transactions: brokers prepare for them meanwhile.
                is_transactional(self._wire, TRANSACTIONAL_ID)
                topic = self._reader.topic = create_topic(self._wire)
            try:
                written = append_batch(self._wire, topic, entries, ticks())
            except NotLeaderError as error:
                self._reader.topic = None
                if time.monotonic() >= deadline:
                    raise UnreachableError(
                        f"the registry {REGISTRY_TOPIC} can't be written: {error}; see that the "
                        "brokers run, then try again"
                    ) from error
                time.sleep(POLL_S)
            else:
                self._exists = True
                return written
