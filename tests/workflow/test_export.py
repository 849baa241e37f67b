"""An export is the cluster in the project's own words: planned against it, it asks for nothing."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from builders import (
    PROJECT,
    UID,
    a_binding,
    a_cluster,
    a_quota,
    a_quota_state,
    a_topic,
    a_topic_state,
    an_acl,
    an_entity,
    an_owner,
    applied,
    plan_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgitops.desired.build import build_desired
from kgitops.desired.state import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    Project,
    Safety,
)
from kgitops.manifests.load import load_manifests
from kgitops.model.acls import OPERATIONS, ResourceType
from kgitops.model.addresses import topic_address
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.plan import Action, Plan
from kgitops.workflow.export import Export, export_manifests
from kgitops.workflow.manifest_files import write_manifests

PAYMENTS = Project(name=PROJECT, uid=UID)
SPLIT_BRAIN = "Ünïcode\u202e \"quotes\" 'too' #: {x} ${var:NAME} $${env:X} %2F \u00a0"


def plan_of_export(state: ClusterState, folder: Path, project: Project = PAYMENTS) -> Plan:
    """What the exported manifests plan to, loaded back as the whole project."""
    write_manifests(export_manifests(state, project).files, folder)
    desired = build_desired(
        load_manifests([folder], cluster="local", variables={}, env={}),
        project=project,
        whole=True,
        targets=frozenset(),
        excludes=frozenset(),
        safety=Safety(),
        principal="User:kgitops",
        allow_configs=(),
    )
    return plan_of(desired, state)


def names_in(export: Export) -> set[str]:
    return {
        document["metadata"]["name"]
        for documents in export.files.values()
        for document in documents
    }


@pytest.mark.parametrize(
    "declared",
    [
        a_topic(configs={"retention.ms": "1000", "cleanup.policy": "compact"}),
        a_topic(assignment=((1, 2), (3, 1))),
        a_topic(deletion_policy=DeletionPolicy.DELETE),
        a_topic(deletion_policy=DeletionPolicy.PROTECT),
        a_topic(configs_policy=ConfigsPolicy.EXACT, configs={"retention.ms": "1000"}),
        a_topic(delete_records_before={0: 10, 2: 5}),
        a_topic(configs={"leader.replication.throttled.replicas": "0:1"}),
        an_acl(),
        an_acl(deletion_policy=DeletionPolicy.ORPHAN),
        a_quota(consumer_byte_rate=1024, request_percentage=12.5),
        a_quota(an_entity(user=None, client_id=None), deletion_policy=DeletionPolicy.PROTECT),
    ],
    ids=str,
)
def test_what_is_managed_is_written_as_it_was_declared(
    declared: DesiredObject, tmp_path: Path
) -> None:
    plan = plan_of_export(applied(declared), tmp_path)
    assert (plan.changes, plan.findings, plan.refusals) == ((), (), ())


def test_what_nobody_manages_is_only_adopted(tmp_path: Path) -> None:
    state = a_cluster(a_topic_state(), a_binding(), a_quota_state(consumer_byte_rate=1))
    plan = plan_of_export(state, tmp_path)
    assert [change.actions for change in plan.changes] == [(Action.ADOPT,)] * 3
    assert plan.requests == ()


def test_what_belongs_to_another_project_is_left_out_and_counted() -> None:
    mine, theirs = a_topic("mine"), a_topic("theirs")
    state = applied(mine, beside=[a_topic_state("theirs"), a_binding()])
    assert state.registry
    owners = {
        **state.registry.owners,
        theirs.address: an_owner(theirs, project="search-uid"),
        an_acl().address: an_owner(an_acl(), project="search-uid"),
    }
    state = a_cluster(
        *state.topics.values(),
        *state.acls,
        owners=owners,
        projects={UID: PROJECT, "search-uid": "search"},
    )
    export = export_manifests(state, PAYMENTS)
    assert names_in(export) == {"mine"}
    (sentence,) = export.left_out
    assert sentence.startswith("left out what the project 'search' manages: 2 in number")


def test_a_topic_that_no_manifest_can_say_is_left_out_by_name(tmp_path: Path) -> None:
    uneven = a_topic_state("uneven", assignment=((1, 2), (3,)))
    export = export_manifests(a_cluster(uneven, a_topic_state("even")), PAYMENTS)
    assert names_in(export) == {"even"}
    assert "left out topic/uneven: " in export.left_out[0]


def test_what_belongs_to_the_brokers_is_not_exported() -> None:
    state = a_cluster(
        a_topic_state("__consumer_offsets"),
        a_topic_state("__kgitops"),
        a_topic_state("going", marked_for_deletion=True),
        a_topic_state("moving", configs={"leader.replication.throttled.replicas": "0:1"}),
        a_binding(name="__kgitops"),
    )
    export = export_manifests(state, PAYMENTS)
    assert names_in(export) == {"moving"}
    ((document,),) = export.files.values()
    assert "configs" not in document["spec"]


def test_names_that_differ_only_in_case_share_a_file(tmp_path: Path) -> None:
    """Else a file system that does not tell them apart would lose one of them."""
    state = a_cluster(a_topic_state("Orders.x"), a_topic_state("orders.y"))
    export = export_manifests(state, PAYMENTS)
    assert list(export.files) == ["topics/orders.yaml"]
    assert names_in(export) == {"Orders.x", "orders.y"}


@pytest.mark.parametrize(
    "word", ["true", "No", "null", "~", "1e3", "0x1F", "2026-01-01", "1_000", " ", SPLIT_BRAIN]
)
def test_words_that_yaml_readers_take_for_something_else_stay_words(
    word: str, tmp_path: Path
) -> None:
    state = a_cluster(
        a_binding(f"User:{word}"), a_quota_state(an_entity(user=word), consumer_byte_rate=1)
    )
    plan = plan_of_export(state, tmp_path)
    assert {change.actions for change in plan.changes} == {(Action.ADOPT,)}
    assert plan.requests == ()


# The same for any cluster.

NAMES = ("orders", "Orders.v2", "123", "true", "a-b_c", "-", "..x", "payments.eu.west.raw")
TEXT = st.one_of(
    st.sampled_from(["billing", "a b", "CN=x,O=y", "no", "1", SPLIT_BRAIN, "${env:HOME}", "a\\b"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")), min_size=1, max_size=12),
)
CONFIGS = st.dictionaries(
    st.sampled_from(["retention.ms", "segment.bytes"]),
    st.integers(1_048_576, 2**31 - 1).map(str),
)
POLICY = st.one_of(st.none(), st.sampled_from(DeletionPolicy))


@st.composite
def topics(draw: st.DrawFn) -> DesiredTopic:
    assignment = draw(st.one_of(st.none(), st.just(((1, 2), (2, 3))), st.just(((3,),))))
    return a_topic(
        draw(st.sampled_from(NAMES)),
        partitions=draw(st.integers(1, 3)),
        assignment=assignment,
        configs=draw(CONFIGS),
        deletion_policy=draw(POLICY),
        configs_policy=draw(st.sampled_from(ConfigsPolicy)),
    )


@st.composite
def acls(draw: st.DrawFn) -> DesiredAcl:
    resource = draw(st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]))
    binding = a_binding(
        f"User:{draw(TEXT)}",
        draw(st.sampled_from(sorted(OPERATIONS[resource]))),
        draw(st.sampled_from([*NAMES, "*"])),
        resource=resource,
        pattern=draw(st.sampled_from(["literal", "prefixed"])),
        host=draw(st.sampled_from(["*", "10.0.0.1"])),
        permission=draw(st.sampled_from(["Allow", "Deny"])),
    )
    return an_acl(binding, deletion_policy=draw(POLICY))


@st.composite
def quotas(draw: st.DrawFn) -> DesiredQuota:
    name = st.one_of(st.none(), TEXT)
    entity = draw(
        st.one_of(
            st.builds(lambda user: an_entity(user=user), name),
            st.builds(lambda user, client: an_entity(user=user, client_id=client), name, name),
        )
    )
    value = draw(st.one_of(st.integers(1, 2**53), st.floats(0.0001, 1000.0)))
    return a_quota(entity, deletion_policy=draw(POLICY), request_percentage=value)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[ClusterState, bool]:
    """A cluster, and whether the project manages all of it."""
    found: Iterable[DesiredObject] = [
        *draw(st.lists(topics(), max_size=4)),
        *draw(st.lists(acls(), max_size=6)),
        *draw(st.lists(quotas(), max_size=3)),
    ]
    # No two topics whose names collide in Kafka's metrics, and none twice.
    declared = {item.address.replace("_", "."): item for item in found}.values()
    whole = applied(*declared)
    assert whole.registry
    owners = {key: owner for key, owner in whole.registry.owners.items() if draw(st.booleans())}
    state = a_cluster(*whole.topics.values(), *whole.acls, *whole.quotas.values(), owners=owners)
    return state, len(owners) == len(whole.registry.owners)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(found=clusters())
def test_any_export_asks_for_no_request_and_at_most_adopts(
    found: tuple[ClusterState, bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    state, managed = found
    folder = tmp_path_factory.mktemp("export")
    if not (state.topics or state.acls or state.quotas):
        assert export_manifests(state, PAYMENTS).files == {}
        return
    plan = plan_of_export(state, folder)
    assert (plan.requests, plan.findings, plan.refusals) == ((), (), ())
    assert {change.actions for change in plan.changes} <= {(Action.ADOPT,)}
    assert not (managed and plan.changes)
    assert set(map(topic_address, state.topics)) <= {
        *(change.address for change in plan.changes),
        *(state.registry.owners if state.registry else ()),
    }
