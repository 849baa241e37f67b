"""Any state of a cluster at all, as far as a snapshot holds it."""

from hypothesis import strategies as st
from virtual_clusters.vc_requests import A

from kgitops.model.cluster_state import Broker, ClusterState, NotChecked, TopicUsage
from kgitops.model.lowered import Lowered, LoweredAcl, LoweredQuota
from kgitops.model.registry import Owner, RecordedRun, RegistryState, TakeoverRecord
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaState, make_entity
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import ScramMechanism, found_users
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.one_of(st.none(), st.integers(0, 2**63 - 1))
CONFIGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), TEXTS),
    lambda items: st.one_of(st.lists(items, max_size=3), st.dictionaries(TEXTS, items, max_size=3)),
    max_leaves=6,
)
RATES = st.floats(min_value=1e-4, max_value=1e15, allow_nan=False).map(lambda x: round(x, 6) or 1.0)

brokers = st.builds(
    Broker, id=st.integers(0, 99), rack=st.one_of(st.none(), TEXTS), fenced=st.booleans()
)
topics = st.builds(
    TopicState,
    name=TEXTS,
    topic_id=st.one_of(st.none(), TEXTS),
    assignment=st.lists(st.lists(st.integers(0, 99), max_size=3).map(tuple), max_size=3).map(tuple),
    configs=CONFIGS,
    marked_for_deletion=st.booleans(),
    reassigning=st.booleans(),
)
usages = st.builds(
    TopicUsage,
    log_start_offsets=st.lists(NUMBERS, max_size=2).map(tuple),
    high_watermarks=st.lists(NUMBERS, max_size=2).map(tuple),
    size_bytes=st.lists(NUMBERS, max_size=2).map(tuple),
    active_groups=st.one_of(st.none(), st.lists(TEXTS, max_size=2).map(tuple)),
)
bindings = st.builds(
    AclBinding,
    resource_type=st.sampled_from(ResourceType),
    resource_name=TEXTS,
    pattern_type=st.sampled_from(PatternType),
    principal=TEXTS,
    host=TEXTS,
    operation=st.sampled_from(Operation),
    permission_type=st.sampled_from(PermissionType),
    virtual_cluster=st.sampled_from(["kafka-cluster", A, "*"]),
)
entities = st.dictionaries(
    st.sampled_from(["virtual-cluster", "user", "client-id", "ip"]),
    st.one_of(st.none(), TEXTS),
    min_size=1,
).map(make_entity)
quotas = st.builds(
    ClientQuotaState, entity=entities, quotas=st.dictionaries(TEXTS, RATES, max_size=2)
)
owners = st.builds(
    Owner,
    project=TEXTS,
    topic_id=st.one_of(st.none(), TEXTS),
    adopted=st.booleans(),
    spent=st.booleans(),
    last_applied=st.dictionaries(TEXTS, JSON_VALUES, max_size=2),
)
registries = st.builds(
    RegistryState,
    topic_id=TEXTS,
    offset=st.integers(0, 2**63 - 1),
    projects=CONFIGS,
    owners=st.dictionaries(TEXTS, owners, max_size=2),
    virtual_clusters=st.dictionaries(
        TEXTS, st.dictionaries(TEXTS, JSON_VALUES, max_size=2), max_size=2
    ),
    formerly=st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2).map(tuple), max_size=2),
    releases=CONFIGS,
    runs=st.dictionaries(
        TEXTS,
        st.builds(
            RecordedRun, project=TEXTS, started=TEXTS, holder=TEXTS, unfinished=st.booleans()
        ),
        max_size=2,
    ),
    takeovers=st.dictionaries(
        TEXTS,
        st.builds(
            TakeoverRecord,
            project=TEXTS,
            by=TEXTS,
            name=TEXTS,
            run=TEXTS,
            at=TEXTS,
            holder=TEXTS,
            objects=st.lists(TEXTS, max_size=2).map(tuple),
        ),
        max_size=2,
    ),
)
NAMES = st.frozensets(TEXTS, max_size=2)
LOCAL = st.builds(LocalName, TEXTS, TEXTS)
MAYBE_RATES = st.one_of(st.none(), RATES)
virtual_clusters = st.builds(
    VirtualCluster,
    name=TEXTS,
    links=st.lists(
        st.builds(TopicLink, name=TEXTS, topic=TEXTS, topic_id=st.one_of(st.none(), TEXTS)),
        max_size=2,
    ).map(lambda links: {item.name: item for item in links}),
    users=NAMES,
    client_ids=NAMES,
    groups=st.dictionaries(TEXTS, st.one_of(st.none(), TEXTS), max_size=2),
    transactional_ids=NAMES,
    options=st.builds(
        LoweringOptions, cap_lowering=st.sampled_from(CapLowering), deny_wins=st.booleans()
    ),
)
lowered_acls = st.builds(
    LoweredAcl,
    binding=bindings,
    virtual_cluster=TEXTS,
    sources=st.lists(TEXTS, max_size=2).map(tuple),
    adopted=st.booleans(),
    present=st.booleans(),
)
lowered_quotas = st.builds(
    LoweredQuota,
    entity=entities,
    key=TEXTS,
    virtual_cluster=TEXTS,
    value=MAYBE_RATES,
    sources=st.lists(TEXTS, max_size=2).map(tuple),
    hidden=MAYBE_RATES,
    found=MAYBE_RATES,
)
lowered = st.builds(
    Lowered,
    acls=st.lists(lowered_acls, max_size=2).map(lambda items: {i.binding: i for i in items}),
    quotas=st.lists(lowered_quotas, max_size=2).map(
        lambda items: {(i.entity, i.key): i for i in items}
    ),
    pending=st.dictionaries(LOCAL, TEXTS, max_size=2),
)
group_offsets = st.dictionaries(
    TEXTS,
    st.dictionaries(st.tuples(TEXTS, st.integers(0, 9)), st.integers(0, 2**63 - 1), max_size=2),
    max_size=2,
)
_states = st.builds(
    ClusterState,
    cluster_id=TEXTS,
    backend=TEXTS,
    brokers=st.lists(brokers, max_size=3).map(tuple),
    controller_id=st.integers(-1, 99),
    topics=st.lists(topics, max_size=3).map(lambda items: {item.name: item for item in items}),
    acls=st.frozensets(bindings, max_size=3),
    quotas=st.lists(quotas, max_size=3).map(lambda items: {item.entity: item for item in items}),
    usage=st.dictionaries(TEXTS, usages, max_size=2),
    broker_defaults=CONFIGS,
    has_authorizer=st.booleans(),
    not_checked=st.lists(st.builds(NotChecked, problem=TEXTS, advice=TEXTS), max_size=2).map(tuple),
    registry=st.one_of(st.none(), registries),
    captured_at=TEXTS,
    virtual_clusters=st.lists(virtual_clusters, max_size=2).map(
        lambda items: {item.name: item for item in items}
    ),
    lowered=st.one_of(st.none(), lowered),
    group_offsets=group_offsets,
    settings=CONFIGS,
    objects=st.just({}),
    asked=st.just(frozenset()),
)
_users = st.dictionaries(
    TEXTS,
    st.dictionaries(st.sampled_from(ScramMechanism), st.integers(1, 9999), min_size=1),
    max_size=2,
)
states = st.builds(
    lambda state, users: (
        state if users is None else state.with_objects(found_users(users), Kind.USER)
    ),
    _states,
    st.none() | _users,
)
