"""Whether a topic is still the planned one, and who leads its partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.uuids import to_text
from kgitops.cluster.kafka.wire import Wire
from kgitops.cluster.kafka.write_answers import LOOK_MS, UNKNOWN_ID, result_of
from kgitops.model.results import ErrorCode, RequestResult

_WITH_IDS = 10
_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A topic that has the planned id: partition id to its leader's broker id, -1 for none.

    ``replicas`` are all that a partition has: while it moves, those that come and go as well.
    """

    leaders: Mapping[int, int]
    replicas: Mapping[int, tuple[int, ...]]

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.leaders)


def find_topics(wire: Wire, wanted: Sequence[tuple[str, str]]) -> Sequence[Found | RequestResult]:
    """For each (name, topic id) the topic, or what is answered in its place.

    One request for all. That a topic made anew has taken the name, and that there is none any more,
    is answered alike: UNKNOWN_TOPIC_ID.
    """
    names = sorted({name for name, _ in wanted})
    response = wire.send(
        MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=n) for n in names],
            allow_auto_topic_creation=False,
            min_version=_WITH_IDS,
        ),
        timeout_ms=LOOK_MS,
    )
    rows = {row.name: row for row in response.topics}
    found: list[Found | RequestResult] = []
    for name, topic_id in wanted:
        row = rows.get(name)
        if row is None or row.error_code in _GONE:
            found.append(UNKNOWN_ID)
        elif row.error_code:
            found.append(result_of(row.error_code, None))
        elif to_text(row.topic_id) != topic_id:
            found.append(UNKNOWN_ID)
        else:
            leaders = {item.partition_index: item.leader_id for item in row.partitions}
            replicas = {item.partition_index: tuple(item.replica_nodes) for item in row.partitions}
            found.append(Found(leaders=leaders, replicas=replicas))
    return found
