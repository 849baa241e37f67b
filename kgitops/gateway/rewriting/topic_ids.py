"""Topic ids: which may be used, and what stands for those that may not."""

import secrets

from kgitops.gateway.naming.name_table import NameTable
from kgitops.wire.messages import NIL_UUID

_MOST_MASKS = 1_000


class TooManyTopicIdsError(Exception):
    """A connection used more ids of topics that are not its own than can be remembered."""


class TopicIds:
    """The physical names behind ids, learned from brokers: the registry may not know an id yet."""

    def __init__(self) -> None:
        self._names: dict[bytes, bytes] = {}
        self._ids: dict[bytes, bytes] = {}

    def learn(self, topic_id: bytes, physical: bytes) -> None:
        """Remember the id that a broker tells of a topic, instead of an earlier one."""
        before = self._ids.get(physical)
        if before == topic_id or topic_id == NIL_UUID:
            return
        if before is not None:
            self._names.pop(before, None)
        self._ids[physical] = topic_id
        self._names[topic_id] = physical

    def own(self, topic_id: bytes, table: NameTable) -> bool:
        """Tells if the id is that of a topic that the virtual cluster links to."""
        if topic_id in table.topic_ids:
            return True
        physical = self._names.get(topic_id)
        return physical is not None and physical in table.local_names


class TopicIdMasks:
    """Ids that no topic has, in the place of ids that a client may not use.

    The broker then knows no such topic, and the response gets back the id that the client gave.
    Each is random: a rule would let a client compute the id whose mask is another tenant's.
    """

    def __init__(self) -> None:
        self._masks: dict[bytes, bytes] = {}
        self._masked: dict[bytes, bytes] = {}

    def mask(self, topic_id: bytes) -> bytes:
        """The id to send instead.

        Raises:
            TooManyTopicIdsError: the connection has used up its masks.
        """
        found = self._masks.get(topic_id)
        if found is None:
            if len(self._masks) >= _MOST_MASKS:
                raise TooManyTopicIdsError
            found = self._masks[topic_id] = secrets.token_bytes(16)
            self._masked[found] = topic_id
        return found

    def unmask(self, topic_id: bytes) -> bytes | None:
        """The id that the client gave; None if this is no mask."""
        return self._masked.get(topic_id)
