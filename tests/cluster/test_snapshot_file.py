"""Snapshot files: they come back as they were, and nothing else is planned from."""

import json
import re
from collections.abc import Callable

import pytest
from builders import a_topic
from cluster.clusters import a_cluster, a_cluster_with, a_grant, admin
from cluster.snapshot_strategies import states
from hypothesis import given, settings
from msgspec.structs import replace
from tiers import examples
from used import used
from virtual_clusters.vc_requests import A, add, create, link

from kgitops.cluster.registry import build_registry_state, owner_record, project_record
from kgitops.cluster.snapshot import SnapshotCluster, read_snapshot, write_snapshot
from kgitops.lowering.records import virtual_cluster_record
from kgitops.model.cluster_state import ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import KgitopsError, SafetyError, UnreachableError
from kgitops.model.json.declared import last_applied
from kgitops.model.lowered import Lowered
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions


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
                     "is of format version '2.0'", id="newer-major"),
        pytest.param(changed(lambda v: v.pop("format_version")), SafetyError,
                     "has no format version", id="no-version"),
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
