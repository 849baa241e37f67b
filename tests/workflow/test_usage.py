"""How topics are used is asked only where a plan may hurt them, and shown there (decision 0010)."""

from pathlib import Path

import pytest
from apply.plans import Apply, sealed_now
from builders import ALL_CAPABILITIES, a_binding, a_desired, a_topic, an_acl, plan_of
from cluster.clusters import a_cluster

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import NotChecked, Usage
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import make_plan
from kgitops.plan.shown import add_usage, topics_at_stake
from kgitops.workflow.reading import with_offsets
from kgitops.workflow.stages import Planning, with_impact

ORDERS = a_topic(
    partitions=2,
    configs={"retention.ms": "86400000", "segment.ms": "7"},
    deletion_policy=DeletionPolicy.DELETE,
)
_RETENTION = "configs.retention.ms"
OTHER = a_topic("other")
UNKNOWN = NotChecked(problem="nobody knows who reads", advice="ask them")


class Counting(EmbeddedCluster):
    """The embedded cluster, and what it was asked beside its state."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        super().__init__(cluster.controller)
        self.asked: list[tuple[frozenset[str], bool]] = []

    def read_usage(
        self, topics: frozenset[str], *, offsets_only: bool = False, groups: bool = True
    ) -> Usage:
        self.asked.append((topics, offsets_only))
        return super().read_usage(topics, offsets_only=offsets_only, groups=groups)


@pytest.fixture
def cluster() -> Counting:
    """Two topics that were applied, one of them with 20 records of 10 bytes."""
    cluster = a_cluster()
    Apply(cluster=cluster).plan(plan_of(a_desired(ORDERS, OTHER), cluster.read_state()))
    cluster.produce("orders", 0, records=20, bytes_each=10)
    return Counting(cluster)


def planned(cluster: Counting, desired: DesiredState) -> Plan:
    current = with_offsets(cluster, desired, cluster.read_state())
    plan = make_plan(desired, current, target_name="t", capabilities=ALL_CAPABILITIES)
    return with_impact(plan, Planning(cluster=cluster, desired=desired, current=current))


def test_nothing_is_asked_where_nothing_is_at_stake(cluster: Counting):
    """Not for a plan without changes, nor for one that only adds or is safe."""
    assert planned(cluster, a_desired(ORDERS, OTHER)).changes == ()
    harmless = a_topic(partitions=2, configs={"retention.ms": "86400000", "segment.ms": "8"})
    plan = planned(cluster, a_desired(harmless, OTHER, a_topic("new"), an_acl(a_binding())))
    assert len(plan.changes) == 3
    assert cluster.asked == []


@pytest.mark.parametrize(
    "topics",
    [
        [OTHER],
        [OTHER, a_topic(partitions=2, configs={"retention.ms": "1", "segment.ms": "7"})],
        [OTHER, a_topic(partitions=3, configs=ORDERS.configs)],
    ],
    ids=["deleted", "retention shrinks", "partitions grow"],
)
def test_what_may_be_hurt_is_looked_at_and_nothing_else(cluster: Counting, topics):
    plan = planned(cluster, a_desired(*topics))
    assert cluster.asked == [(frozenset({"orders"}), False)]
    assert topics_at_stake(plan) == {"orders"}
    (change,) = plan.changes
    estimate = {"bytes_expected": "0"} if any(f.path == _RETENTION for f in change.fields) else {}
    assert change.impact == {
        "partitions": 2,
        "bytes": "200",
        "records": "20",
        "active_groups": [],
        **estimate,
    }


def test_records_to_delete_are_known_before_the_diff(cluster: Counting):
    """What is gone already is no change; what is not counts as lost."""
    topic = a_topic(partitions=2, configs=ORDERS.configs, delete_records_before={0: 5})
    desired = a_desired(topic, OTHER)
    plan = planned(cluster, desired)
    assert cluster.asked == [(frozenset({"orders"}), True), (frozenset({"orders"}), False)]
    (change,) = plan.changes
    assert change.impact["records_deleted"] == "5"
    apply = Apply(cluster=cluster)
    sealed = sealed_now(plan, apply.clock, "another nonce")
    assert apply.plan(sealed, "run-2").verdict.exit is ExitCode.SUCCESS
    assert planned(cluster, desired).changes == ()


def test_what_could_not_be_read_is_said_once_and_stops_nothing(cluster: Counting):
    current = cluster.read_state().with_usage(Usage(not_checked=(UNKNOWN,)))
    plan = make_plan(a_desired(OTHER), current, target_name="t", capabilities=ALL_CAPABILITIES)
    more = NotChecked(problem="nor how much there is", advice="measure it")
    plan = add_usage(plan, Usage(not_checked=(UNKNOWN, more)))
    problems = [warning.problem for warning in plan.warnings]
    assert [problems.count(item.problem) for item in (UNKNOWN, more)] == [1, 1]
    assert not plan.verdict.stops


def test_acls_can_not_be_planned_where_no_broker_keeps_them(tmp_path: Path):
    """A4-95: it is said of each, at its place; without ACLs the plan goes through."""
    cluster = connect("embedded:?authorizer=disabled", base=tmp_path)
    plan = plan_of(a_desired(ORDERS, an_acl(a_binding())), cluster.read_state())
    (finding,) = plan.findings
    assert "no authorizer" in finding.problem
    assert finding.source is not None
    assert plan.verdict.exit is ExitCode.ERROR
    assert not plan_of(a_desired(ORDERS), cluster.read_state()).verdict.stops
    cluster.close()
