"""Virtual clusters, their members, and the links by which they see topics."""

from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import STRING, list_of, map_of

VIRTUAL_CLUSTER = Record(
    "a virtual cluster",
    {
        "name": Field(STRING, "Its name.", lambda found, _: found.name),
        "users": Field(
            list_of(STRING),
            "The principals of its users, such as User:jane.",
            lambda found, _: sorted(found.users),
        ),
        "clientIds": Field(
            list_of(STRING), "Its client ids.", lambda found, _: sorted(found.client_ids)
        ),
        "groups": Field(
            list_of(STRING),
            "Its consumer groups, by the names that it knows.",
            lambda found, _: sorted(found.groups),
        ),
        "transactionalIds": Field(
            list_of(STRING),
            "Its transactional ids, by the names that it knows.",
            lambda found, _: sorted(found.transactional_ids),
        ),
        "links": Field(
            map_of(STRING),
            "Its links: the name of each to the physical topic.",
            lambda found, _: {name: link.topic for name, link in found.links.items()},
        ),
    },
)
VIRTUAL_CLUSTER_CHANGE = Record(
    "a change of a virtual cluster",
    {
        "action": Field(
            STRING,
            "add, remove, copyOffsets, deleteGroup, or options where no member is changed.",
            lambda request, _: request.change.value,
        ),
        "type": Field(
            STRING.or_null,
            "What the member is: user, clientId, group or transactionalId.",
            lambda request, _: request.entity_type and request.entity_type.value,
        ),
        "member": Field(
            STRING.or_null,
            "The member; of a user its principal.",
            lambda request, _: request.entity_name,
        ),
        "movedFrom": Field(
            STRING.or_null,
            "The virtual cluster that gives the member up at the same moment.",
            lambda request, _: request.moved_from,
        ),
        "adopts": Field(
            STRING.or_null,
            "The global group that a group takes over, or whose offsets it gets.",
            lambda request, _: request.adopts,
        ),
    },
)
LINK = Record(
    "a link",
    {
        "name": Field(STRING, "Its name in the virtual cluster.", lambda request, _: request.link),
        "topic": Field(STRING, "The physical topic.", lambda request, _: request.topic),
        "sharedWith": Field(
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
        "replaces": Field(
            STRING.or_null,
            "The physical topic that the link leads to so far.",
            lambda request, _: request.replaces,
        ),
    },
)
