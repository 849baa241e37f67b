"""The hooks of a request: local names become physical ones."""

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.apis import GROUP_RESOURCE, TOPIC_RESOURCE
from kgitops.gateway.rewriting.consumer_protocol import (
    CONSUMER,
    change_assignment,
    change_subscription,
)
from kgitops.gateway.rewriting.exchange import MOST_IN_REQUEST, RewriteState
from kgitops.serve.groups.consumers.patterns import Re2Pattern
from kgitops.serve.patterns import InvalidPatternError
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import NIL_UUID

_MOST_SEVERAL = 10_000
"""The names in one request of topics with several names, each of which its response asks for."""
INVALID_PATTERN = b"["
"""A pattern that is none: the broker says so."""


class RequestNames:
    """Changes the names of one request, and tells what its response needs to know.

    A topic that the virtual cluster does not have gets the name of a group of it, which can't be a
    topic's: no broker has it, and none creates it.
    """

    def __init__(
        self, table: NameTable, connection: RewriteState, room: int = MOST_IN_REQUEST
    ) -> None:
        self.room = room
        """The most elements of the request."""
        self._table = table
        self._connection = connection
        self.missing: list[bytes] = []
        self.patterns = False
        self.masked = False
        self._several = 0
        self.asked: dict[bytes, list[bytes]] = {}
        self.group: bytes | None = None
        self.kind: bytes | None = None
        self.pattern: str | None = None
        """The client's, of transactional ids."""

    def topic(self, raw: bytes) -> bytes:
        """The physical name of a topic."""
        table = self._table
        physical = table.links.get(raw)
        if physical is None:
            self.missing.append(raw)
            return table.prefix + raw
        several = table.local_names[physical]
        if len(several) > 1:
            self._several += 1
            if self._several > _MOST_SEVERAL:
                raise MalformedError("it names topics with several names too often")
            name = several[several.index(raw)]  # the table's, which is there once
            self._connection.preferred[physical] = name
            self.asked.setdefault(physical, []).append(name)
        return physical

    def last_used_first(self, physical: bytes, local: tuple[bytes, ...]) -> list[bytes]:
        """The names of a topic that has several, beginning with the one that was last used."""
        last = self._connection.preferred.get(physical)
        return sorted(local, key=lambda name: name != last)

    @property
    def unknown(self) -> bool:
        """A topic was named that the virtual cluster does not have."""
        return bool(self.missing)

    def topic_pattern(self, raw: bytes) -> bytes:
        """A pattern of source topics, which brokers would match with all topics."""
        self.patterns = True
        return raw

    def scoped_id(self, raw: bytes) -> bytes:
        """The physical id of a group or a transactional id, or of a coordinator's key."""
        self.group = raw
        self.kind = self._connection.protocol_types.get(raw)
        return self._table.prefix + raw

    def topic_id(self, raw: bytes) -> bytes:
        """The id, or a mask for it if no link of the virtual cluster leads to its topic."""
        if raw == NIL_UUID or self._connection.topic_ids.own(raw, self._table):
            return raw
        self.masked = True
        return self._connection.masks.mask(raw)

    described_topic_id = topic_id

    def resource(self, resource_type: int, raw: bytes) -> bytes:
        """The physical name of what has configs: topics and groups have names of their own."""
        if resource_type == TOPIC_RESOURCE:
            return self.topic(raw)
        return self.scoped_id(raw) if resource_type == GROUP_RESOURCE else raw

    def protocol_type(self, raw: bytes) -> bytes:
        """Remember the kind of group."""
        self.kind = raw
        return raw

    def subscription(self, raw: bytes) -> bytes:
        """The blob with which a member joins."""
        return change_subscription(raw, self) if self.kind in (None, CONSUMER) else raw

    def assignment(self, raw: bytes) -> bytes:
        """The blob that a leader gives a member."""
        return change_assignment(raw, self) if self.kind in (None, CONSUMER) else raw

    def id_pattern(self, raw: bytes) -> bytes:
        """The pattern of all ids of the virtual cluster, among which the response is searched.

        No broker is sent a client's own pattern, which could end what is put around it.
        """
        if raw:
            try:
                pattern = raw.decode()
            except UnicodeDecodeError:
                raise MalformedError("a pattern is not UTF-8") from None
            try:
                Re2Pattern(pattern)
            except InvalidPatternError:
                return INVALID_PATTERN
            self.pattern = pattern
        return b"\\Q" + self._table.prefix + b"\\E(?s:.*)"
