"""Random requests about a few virtual clusters, whose names overlap."""

from hypothesis import strategies as st
from lowering.scenario import acl, add, create_topic, remove

from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.virtual_clusters import CapLowering, EntityType, LoweringOptions

VIRTUAL_CLUSTERS = ("a", "a.b", "b")
TOPICS = ("t", "tt")
LINKS = ("n", "nn", "t")
USERS = ("User:u", "User:v", "Group:g")
NAMES = st.sampled_from(VIRTUAL_CLUSTERS)
PATTERNS = st.sampled_from(PatternType)
DENY = st.sampled_from([PermissionType.ALLOW] * 4 + [PermissionType.DENY])
VALUES = st.sampled_from([10.0, 20.0, 30.0, 40.0])
KEYS = st.sampled_from(["producer_byte_rate", "request_percentage"])


@st.composite
def bindings(draw: st.DrawFn) -> AclBinding:
    """ACLs of one or many virtual clusters, on CLUSTER, and global ones that look lowered."""
    kind, operation = draw(
        st.sampled_from(
            [
                (ResourceType.TOPIC, Operation.READ),
                (ResourceType.TOPIC, Operation.ALL),
                (ResourceType.TOPIC, Operation.DELETE),
                (ResourceType.TOPIC, Operation.DESCRIBE),
                (ResourceType.GROUP, Operation.READ),
                (ResourceType.TRANSACTIONAL_ID, Operation.ALL),
                (ResourceType.CLUSTER, Operation.ALTER_VIRTUAL_CLUSTER),
            ]
        )
    )
    if kind is ResourceType.CLUSTER:
        return acl("kafka-cluster", draw(st.sampled_from(USERS)), operation, kind, draw(NAMES))
    if draw(st.integers(0, 4)) == 0:
        # What a lowered one looks like, but somebody else's.
        user, topic = draw(st.sampled_from(USERS)), draw(st.sampled_from(TOPICS))
        return acl("kafka-cluster", user, Operation.READ, ResourceType.TOPIC, topic)
    scope, wide = draw(
        st.sampled_from(
            [(name, PatternType.LITERAL) for name in VIRTUAL_CLUSTERS] * 3
            + [("a", PatternType.PREFIXED), ("*", PatternType.LITERAL)]
            + [("kafka-cluster", PatternType.LITERAL)] * 3
        )
    )
    names = [*LINKS, *TOPICS, "*"]
    if kind is not ResourceType.TOPIC and scope == "kafka-cluster":
        names += ["a:n", "b:"]
    return acl(
        scope,
        draw(st.sampled_from([*USERS, "User:*"])),
        operation,
        kind,
        draw(st.sampled_from(names)),
        draw(PATTERNS),
        draw(DENY),
        scope=wide,
    )


@st.composite
def quotas(draw: st.DrawFn) -> req.AlterClientQuotaRequest:
    """Quotas of any kind, including global ones that are hidden or replaced by caps."""
    parts: dict[str, str | None] = {}
    if draw(st.booleans()):
        parts["virtual-cluster"] = draw(NAMES)
    if draw(st.booleans()):
        parts["user"] = draw(st.sampled_from(["u", "v", None]))
    if draw(st.booleans()):
        parts["client-id"] = draw(st.sampled_from(["c", "d", None]))
    if not parts:
        parts["virtual-cluster"] = None
    value = draw(st.one_of(VALUES, st.none()))
    return req.AlterClientQuotaRequest(entity=make_entity(parts), quotas={draw(KEYS): value})


@st.composite
def members(draw: st.DrawFn) -> req.Request:
    """Links, users and the rest: added, removed, moved, retargeted."""
    name = draw(NAMES)
    kind = draw(st.sampled_from([EntityType.TOPIC] * 3 + [EntityType.USER] * 3 + list(EntityType)))
    entity = draw(st.sampled_from(USERS if kind is EntityType.USER else LINKS))
    if draw(st.integers(0, 3)) == 0:
        return remove(name, kind, entity)
    more: dict[str, object] = {}
    if kind is EntityType.TOPIC:
        more = {
            "topic": draw(st.sampled_from(TOPICS)),
            "replaces": draw(st.sampled_from([None, *TOPICS])),
        }
    elif draw(st.booleans()):
        more = {"moved_from": draw(NAMES.filter(lambda other: other != name))}
    return add(name, kind, entity, **more)


options = st.builds(
    LoweringOptions, cap_lowering=st.sampled_from(CapLowering), deny_wins=st.booleans()
)
acls = bindings().map(lambda binding: req.CreateAclRequest(binding=binding))
requests = st.one_of(
    members(),
    members(),
    members(),
    acls,
    acls,
    bindings().map(lambda binding: req.DeleteAclRequest(binding=binding)),
    quotas(),
    quotas(),
    st.one_of(
        st.builds(create_topic, NAMES, st.sampled_from(LINKS)),
        st.builds(
            lambda name, chosen: req.AlterVirtualClusterRequest(
                virtual_cluster=name, options=chosen
            ),
            NAMES,
            options,
        ),
        NAMES.map(lambda name: req.DeleteVirtualClusterRequest(virtual_cluster=name)),
    ),
)


@st.composite
def fleets(draw: st.DrawFn) -> list[req.Request]:
    """Virtual clusters in use, and requests that change them."""
    found: list[req.Request] = [
        req.CreateVirtualClusterRequest(virtual_cluster=name, options=draw(options))
        for name in VIRTUAL_CLUSTERS
    ]
    for name in VIRTUAL_CLUSTERS:
        for link in LINKS[: draw(st.integers(1, 3))]:
            topic = draw(st.sampled_from(TOPICS))
            found += [add(name, EntityType.TOPIC, link, topic=topic)]
    found += [add(draw(NAMES), EntityType.USER, user) for user in USERS]
    found += draw(st.lists(acls, min_size=4, max_size=12))
    found += draw(st.lists(quotas(), min_size=3, max_size=10))
    used = draw(st.permutations(found[len(VIRTUAL_CLUSTERS) :]))
    later = draw(st.lists(requests, min_size=5, max_size=20))
    return [*found[: len(VIRTUAL_CLUSTERS)], *used, *later]
