"""A Tombstone that was executed acts again only where its document names the new topic's id."""

from apply.plans import Apply, open_cluster, sealed_now
from builders import a_desired, a_tombstone, a_topic, plan_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.desired.state import DesiredState
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan

OTHER, TOPIC = a_topic("other"), a_topic()


def applied(cluster: EmbeddedCluster, desired: DesiredState, nonce: str) -> Plan:
    plan = plan_of(desired, cluster.read_state())
    apply = Apply(cluster=cluster)
    result = apply.plan(sealed_now(plan, apply.clock, nonce), nonce)
    assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
    return plan


def test_a_tombstone_that_names_the_new_id_deletes_the_new_topic() -> None:
    cluster = open_cluster()
    for number in range(3):
        applied(cluster, a_desired(OTHER, TOPIC), f"made-{number}")
        topic_id = cluster.read_state().topics[TOPIC.name].topic_id
        tombstone = a_tombstone(TOPIC, topic_id=topic_id)
        assert applied(cluster, a_desired(OTHER, tombstone), f"gone-{number}").changes
        assert TOPIC.name not in cluster.read_state().topics
        for again in (tombstone, a_tombstone(TOPIC)):
            plan = plan_of(a_desired(OTHER, again), cluster.read_state())
            assert not plan.changes
            assert "already executed" in plan.warnings[0].problem
