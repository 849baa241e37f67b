"""Consumer groups outside of virtual clusters, and config resources, as expressions see them."""

from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.records.record import Record, RecordField
from kgitops.policy.cel.types import INT, STRING, list_of, map_of, record


def _offsets(request: policy_requests.AlterConsumerGroupOffsetsRequest, _: ClusterState) -> object:
    return [
        {"topic": item.topic, "partition": partition, "offset": offset}
        for item in request.topics
        for partition, offset in sorted(item.offsets.items())
    ]


_GROUP = RecordField(STRING, "The group's id.")
CONFIG_RESOURCE = Record(
    "configs of a group or of client metrics",
    {
        "resourceType": RecordField(STRING, "GROUP or CLIENT_METRICS."),
        "resourceName": RecordField(STRING, "The group's id, or the name of the subscription."),
        "requestedConfigs": RecordField(
            map_of(STRING.or_null),
            "Only the configs that the request names, as text; null for a key that it removes.",
            lambda request, _: dict(request.configs),
        ),
    },
)
GROUP_OFFSETS = Record(
    "offsets of a group",
    {
        "group": _GROUP,
        "offsets": RecordField(
            list_of(record("an offset", {"topic": STRING, "partition": INT, "offset": INT})),
            "What is committed, by partition.",
            _offsets,
        ),
    },
)
GROUP = Record("a group", {"group": _GROUP})
