"""Virtual clusters, their members, and the links by which they see topics."""

from kgitops.policy.cel.records.record import Record, RecordField
from kgitops.policy.cel.types import STRING, list_of, map_of

VIRTUAL_CLUSTER = Record(
    "a virtual cluster",
    {
        "name": RecordField(STRING, "Its name."),
        "users": RecordField(list_of(STRING), "The principals of its users, such as User:jane."),
        "clientIds": RecordField(list_of(STRING), "Its client ids."),
        "groups": RecordField(list_of(STRING), "Its consumer groups, by the names that it knows."),
        "transactionalIds": RecordField(
            list_of(STRING), "Its transactional ids, by the names that it knows."
        ),
        "links": RecordField(
            map_of(STRING),
            "Its links: the name of each to the physical topic.",
            lambda cluster, _: {name: link.topic for name, link in cluster.links.items()},
        ),
    },
)
VIRTUAL_CLUSTER_CHANGE = Record(
    "a change of a virtual cluster",
    {
        "action": RecordField(
            STRING,
            "add, remove, copyOffsets, deleteGroup, or options where no member is changed.",
            lambda request, _: request.change.value,
        ),
        "type": RecordField(
            STRING.or_null,
            "What the member is: user, clientId, group or transactionalId.",
            lambda request, _: request.entity_type and request.entity_type.value,
        ),
        "member": RecordField(
            STRING.or_null,
            "The member; of a user its principal.",
            lambda request, _: request.entity_name,
        ),
        "movedFrom": RecordField(
            STRING.or_null, "The virtual cluster that gives the member up at the same moment."
        ),
        "adopts": RecordField(
            STRING.or_null, "The global group that a group takes over, or whose offsets it gets."
        ),
    },
)
LINK = Record(
    "a link",
    {
        "name": RecordField(
            STRING, "Its name in the virtual cluster.", lambda request, _: request.link
        ),
        "topic": RecordField(STRING, "The physical topic."),
        "sharedWith": RecordField(
            list_of(STRING),
            "The other virtual clusters that see the topic.",
            lambda request, _: sorted(request.affected),
        ),
    },
)
REQUESTED_LINK = Record(
    LINK.name,
    {
        **LINK.fields,
        "replaces": RecordField(
            STRING.or_null, "The physical topic that the link leads to so far."
        ),
    },
)
