"""Snapshot files: they come back as they were, and nothing else is planned from."""

import json
import re
from collections.abc import Callable

import pytest
from builders import a_topic
from cluster.clusters import a_cluster, a_cluster_with, a_grant, admin
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tiers import examples
from used import used
from virtual_clusters.vc_requests import A, add, create, link

from kgitops.cluster.registry import build_registry_state, owner_record, project_record
from kgitops.cluster.snapshot import SnapshotCluster, read_snapshot, write_snapshot
from kgitops.lowering.records import virtual_cluster_record
from kgitops.model.cluster_state import (
    Broker,
    ClusterState,
    NotChecked,
    TopicUsage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.errors import KgitopsError, SafetyError, UnreachableError
from kgitops.model.lowered import Lowered, LoweredAcl, LoweredQuota
from kgitops.model.registry import Json, Owner, RegistryState
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaState, make_entity
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)
from kgitops.plan.normal_form import last_applied

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
states = st.builds(
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
)


@settings(max_examples=examples(150))
@given(states)
def test_a_snapshot_comes_back_as_it_was(state: ClusterState):
    """Law: snapshot, write and read give the same state, and the same text again."""
    text = write_snapshot(state)
    again = read_snapshot(text, "prod.json")
    assert again == state
    assert write_snapshot(again) == text


def a_state() -> ClusterState:
    """A cluster with one of everything."""
    cluster = a_cluster_with("orders")
    admin(cluster).create_acls([a_grant(Operation.READ)])
    owner = Owner(project="uid", topic_id="t", last_applied=last_applied(a_topic("orders")))
    cluster.registry.append([project_record("uid", "payments"), owner_record("topic/a", owner)])
    return used(cluster)


@given(states)
def test_equal_states_give_one_text(state: ClusterState):
    """In whatever order a cluster tells what it has."""
    turned = replace(
        state,
        **{
            field: type(value)(reversed(value.items()))
            for field in state.__struct_fields__
            if isinstance(value := getattr(state, field), dict)
        },
    )
    assert turned == state
    assert write_snapshot(turned) == write_snapshot(state)


def test_without_virtual_clusters_nothing_is_said_of_them():
    """VC-004, VC-380: a snapshot is byte for byte what it was before there were any."""
    text = write_snapshot(a_state())
    for word in ("virtual", "lowered", "settings", "group_offsets"):
        assert word not in text


def a_state_with_virtual_clusters() -> ClusterState:
    """A cluster with one, its members, an ACL and a quota in it, and an offset of a group."""
    cluster = a_cluster_with("orders", "bills")
    requests = [create(A), link("l", "bills"), add(EntityType.USER, "User:x")]
    for request in requests:
        assert cluster.execute([request], validate_only=False, principal="User:a")[0].ok
    admin(cluster).create_acls([replace(a_grant(Operation.READ), virtual_cluster=A)])
    cluster.commit("g", {("bills", 1): 2**60})
    offsets = cluster.read_group_offsets(frozenset({"g"}))
    return replace(cluster.read_state(), group_offsets=offsets)


def test_virtual_clusters_stand_in_for_themselves_offline():
    """VC-316, VC-322: links are followed, groups are told of when they are asked for."""
    state = a_state_with_virtual_clusters()
    cluster = SnapshotCluster(read_snapshot(write_snapshot(state), "prod.json"))
    assert cluster.read_state() == replace(state, group_offsets={})
    links = frozenset({LocalName(A, "l"), LocalName(A, "none"), LocalName("none", "l")})
    assert list(cluster.read_state(frozenset(), links).topics) == ["bills"]
    assert cluster.read_group_offsets(frozenset({"g", "h"})) == {"g": {("bills", 1): 2**60}}
    assert cluster.capabilities.virtual_clusters is VirtualClusterSupport.NATIVE
    for other in (replace(state, backend="kafka"), replace(state, lowered=Lowered())):
        support = SnapshotCluster(other).capabilities.virtual_clusters
        assert support is VirtualClusterSupport.LOWERED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: value["virtual_clusters"][0].pop("users"), "has no key 'users'"),
        (lambda value: value["virtual_clusters"].append(value["virtual_clusters"][0]), "twice"),
        (lambda value: value["virtual_clusters"][0]["links"][0].update(topic=None), "not text"),
        (lambda value: value["virtual_clusters"][0].update(parent="x"), "unknown key 'parent'"),
        (lambda value: value["group_offsets"]["g"][0].update(offset=1), "whole number written"),
        (lambda value: value.update(lowered={"acls": []}), "has no key 'quotas'"),
    ],
)
def test_damaged_virtual_clusters_are_not_planned_from(change: Callable[[Json], object], said: str):
    value = json.loads(write_snapshot(a_state_with_virtual_clusters()))
    change(value)
    with pytest.raises(SafetyError, match=said):
        read_snapshot(json.dumps(value), "prod.json")


def test_numbers_beyond_a_double_are_text():
    """Contract §6: 64-bit integers, offsets and config values are strings."""
    cluster = a_cluster_with("orders")
    cluster.produce("orders", 0, records=2**60 + 1, bytes_each=1)
    value = json.loads(write_snapshot(used(cluster)))
    assert value["usage"]["orders"]["high_watermarks"] == [str(2**60 + 1), "0"]


def test_no_registry_is_said_aloud():
    text = write_snapshot(a_cluster().read_state())
    assert json.loads(text)["registry"] is None
    assert read_snapshot(text, "prod.json").registry is None


def changed(change: Callable[[Json], object]) -> str:
    """A snapshot after a change of its JSON."""
    value = json.loads(write_snapshot(a_state()))
    change(value)
    return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        pytest.param("", UnreachableError, "is not complete JSON", id="empty"),
        pytest.param("kind: snapshot", UnreachableError, "is not complete JSON", id="yaml"),
        pytest.param(write_snapshot(a_state())[:-9], UnreachableError, "is not complete JSON",
                     id="truncated"),
        pytest.param("[" * 100_000, UnreachableError, "is not complete JSON", id="nested"),
        pytest.param('{"kind": NaN}', UnreachableError, "is not complete JSON", id="nan"),
        pytest.param("[]", UnreachableError, 'has no "kind"', id="list"),
        pytest.param('{"kind": "kgitops.plan"}', UnreachableError, 'has no "kind"', id="plan"),
        pytest.param('{"kind":"kgitops.snapshot","kind":"kgitops.snapshot"}', UnreachableError,
                     "'kind' appears twice", id="duplicate-key"),
        pytest.param(changed(lambda v: v.update(format_version="2.0")), SafetyError,
                     "has format version 2.0", id="newer-major"),
        pytest.param(changed(lambda v: v.pop("format_version")), SafetyError,
                     "has format version None", id="no-version"),
        pytest.param(changed(lambda v: v.pop("registry")), SafetyError,
                     "refused for planning", id="no-registry"),
        pytest.param(changed(lambda v: v.pop("acls")), SafetyError, "has no key 'acls'",
                     id="no-acls"),
        pytest.param(changed(lambda v: v.update(topics={})), SafetyError, "topics is not an array",
                     id="topics-of-another-type"),
        pytest.param(changed(lambda v: v["topics"].append(v["topics"][0])), SafetyError,
                     "topics has 'orders' twice", id="topic-twice"),
        pytest.param(changed(lambda v: v["topics"][0].pop("topic_id")), SafetyError,
                     "topics[0] has no key 'topic_id'", id="no-topic-id"),
        pytest.param(changed(lambda v: v["acls"][0].update(operation="Reed")), SafetyError,
                     "acls[0].operation is none of", id="operation"),
        pytest.param(changed(lambda v: v["quotas"].append({"entity": {}, "quotas": {}})),
                     SafetyError, "quotas[0].entity is not an entity", id="entity"),
        pytest.param(changed(lambda v: v["usage"]["orders"].update(size_bytes=[1])), SafetyError,
                     "not a whole number written as text", id="number"),
        pytest.param(changed(lambda v: v["registry"].pop("owners")), SafetyError,
                     "registry has no key 'owners'", id="no-owners"),
        pytest.param(changed(lambda v: v["registry"]["owners"]["topic/a"].update(schema_version=2)),
                     SafetyError, "the unknown key 'schema_version'", id="owner-of-a-newer-shape"),
    ],
)  # fmt: skip
def test_what_is_not_a_whole_snapshot_is_refused_in_one_sentence(
    text: str, kind: type[KgitopsError], says: str
):
    with pytest.raises(kind, match=re.escape(says)) as error:
        read_snapshot(text, "prod.json")
    assert "prod.json" in str(error.value)
    assert "; " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_newer_minor_version_may_have_more_parts():
    text = changed(lambda value: value.update(format_version="1.7", virtual_clusters=[]))
    assert read_snapshot(text, "prod.json") == a_state()


def test_a_snapshot_stands_in_for_a_cluster():
    state = a_state()
    cluster = SnapshotCluster(state)
    assert cluster.read_state() == replace(state, usage={})
    narrow = cluster.read_state(frozenset({"orders", "none"}))
    assert (list(narrow.topics), narrow.registry) == (["orders"], state.registry)
    assert cluster.read_state(frozenset()).topics == {}
    assert cluster.read_usage(frozenset({"orders", "none"})).topics == state.usage
    assert set(cluster.capabilities.validation.values()) == {Validator.CLIENT}
    assert cluster.capabilities.supports("AlterClientQuota")
    cluster.close()


def test_nothing_can_be_changed_in_a_snapshot():
    cluster = SnapshotCluster(a_state())
    refused: list[Callable[[], object]] = [
        lambda: cluster.execute([], validate_only=True, principal="User:a"),
        lambda: cluster.registry.append([]),
        cluster.registry.now_ms,
    ]
    for call in refused:
        with pytest.raises(UnreachableError, match="can't be changed"):
            call()


def test_the_registry_of_a_snapshot_adds_up_to_the_same():
    state = a_state()
    assert state.registry is not None
    entries = SnapshotCluster(state).registry.read()
    assert entries is not None
    assert build_registry_state(entries, state.registry.topic_id) == state.registry
    key, value = virtual_cluster_record("emea.sales", LoweringOptions())
    kept = {key.removeprefix("vcs/"): value}
    offset = state.registry.offset + 1
    more = replace(state, registry=replace(state.registry, virtual_clusters=kept, offset=offset))
    entries = SnapshotCluster(read_snapshot(write_snapshot(more), "x")).registry.read() or ()
    assert build_registry_state(entries, "t").virtual_clusters == kept
    assert SnapshotCluster(a_cluster().read_state()).registry.read() is None
