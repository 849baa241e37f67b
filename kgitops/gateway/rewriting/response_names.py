"""The hooks of a response: physical names become local ones, and what is foreign is dropped."""

import re

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.apis import GROUP_RESOURCE, TOPIC_RESOURCE
from kgitops.gateway.rewriting.consumer_protocol import (
    CONSUMER,
    change_assignment,
    change_subscription,
)
from kgitops.gateway.rewriting.exchange import Addresses, Exchange, RewriteState
from kgitops.serve.groups.consumers.patterns import Re2Pattern
from kgitops.wire.messages import NIL_UUID

_WORD = re.compile(rb"[A-Za-z0-9._-]+")
_QUOTED = re.compile(rb"\\Q([^\\]*)\\E")


class AddressNames:
    """Changes the addresses of brokers."""

    def __init__(self, addresses: Addresses, room: int) -> None:
        self._addresses = addresses
        self.room = room
        """The most elements of the response."""

    def address(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
        """The address to dial; there is none where a broker is not known."""
        if node_id < 0 or not host:
            return host, port
        return self._addresses.advertise(node_id, host, port)


class ResponseNames(AddressNames):
    """Changes the names of one response, by the table that its request was changed by."""

    def __init__(
        self,
        exchange: Exchange,
        table: NameTable,
        connection: RewriteState,
        addresses: Addresses,
        room: int,
    ) -> None:
        super().__init__(addresses, room)
        self._table = table
        self._connection = connection
        self._asked = exchange.asked
        self._kind = exchange.protocol_type
        self._last: bytes | None = None
        self._pattern = Re2Pattern(exchange.pattern) if exchange.pattern else None

    def topic(self, raw: bytes) -> bytes | None:
        """The local name; None for a topic of others. An empty name stands for none."""
        self._last = raw
        table = self._table
        found = table.local_names.get(raw)
        if found is not None:
            return found[0] if len(found) == 1 else self._preferred(raw, found)
        if raw.startswith(table.prefix):
            return raw[len(table.prefix) :]
        return raw if not raw else None

    def _preferred(self, physical: bytes, found: tuple[bytes, ...]) -> bytes:
        asked = self._asked.get(physical)
        if asked:
            # Each of the names that were asked for, in their order; the last one from then on.
            return asked.pop(0) if len(asked) > 1 else asked[0]
        name = self._connection.preferred.get(physical)
        return name if name in found else found[0]

    def scoped_id(self, raw: bytes) -> bytes | None:
        """The local id of a group or transactional id; None for one that is not to be seen."""
        prefix = self._table.prefix
        if not raw.startswith(prefix):
            return raw if not raw else None
        local = raw[len(prefix) :]
        return local if self._pattern is None or self._pattern.matches(local) else None

    def topic_id(self, raw: bytes) -> bytes | None:
        """The id that the client knows; None for that of a topic of others."""
        if raw == NIL_UUID or self._connection.topic_ids.own(raw, self._table):
            return raw
        return self._connection.masks.unmask(raw)

    def described_topic_id(self, raw: bytes) -> bytes | None:
        """The id beside a name that was just read, which is thereby known."""
        last, self._last = self._last, None
        given = self._connection.masks.unmask(raw)
        if given is not None:
            return given  # the client gave it beside the name: it is not the topic's
        if last is not None and last in self._table.local_names:
            self._connection.topic_ids.learn(raw, last)
            return raw
        return self.topic_id(raw)

    def resource(self, resource_type: int, raw: bytes) -> bytes | None:
        """The local name of what has configs."""
        if resource_type == TOPIC_RESOURCE:
            return self.topic(raw)
        return self.scoped_id(raw) if resource_type == GROUP_RESOURCE else raw

    def protocol_type(self, raw: bytes) -> bytes:
        """Remember the kind of group whose members follow."""
        self._kind = raw
        return raw

    def subscription(self, raw: bytes) -> bytes:
        """The blob of another member, for the group's leader."""
        return change_subscription(raw, self) if self._kind in (None, CONSUMER) else raw

    def assignment(self, raw: bytes) -> bytes:
        """The blob that the leader gave."""
        return change_assignment(raw, self) if self._kind in (None, CONSUMER) else raw

    def error_text(self, raw: bytes) -> bytes:
        """A broker's sentence with local names in it."""
        text = raw.replace(self._table.prefix, b"")
        return _WORD.sub(self._local_word, text)

    def _local_word(self, found: re.Match[bytes]) -> bytes:
        word = found[0]
        name = word.rstrip(b".")
        local = self._table.local_names.get(name)
        return word if local is None else local[0] + word[len(name) :]

    def hidden_regex(self, raw: bytes) -> bytes:
        """A member's pattern, which names the topics that it matched (``heartbeats``)."""
        names = [self._table.local_names.get(name) for name in _QUOTED.findall(raw)]
        return b"|".join(b"\\Q" + each[0] + b"\\E" for each in names if each is not None)
