"""A topic of a virtual cluster whose link another client removed: its id leads to it."""

import pytest
from apply.plans import Apply, open_cluster, sealed_now
from builders import a_desired, plan_of
from msgspec.structs import replace
from plan.worked_scenario import SALES, a_local_topic, a_virtual_cluster

from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.model.errors import StaleError
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

TOPIC = a_local_topic()
DECLARED = a_desired(a_virtual_cluster(), TOPIC)


@pytest.fixture(params=["served", "lowered"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A protected topic, whose link is gone."""
    physical = open_cluster()
    cluster = LoweredCluster(physical) if request.param == "lowered" else physical
    assert Apply(cluster=cluster).desired(DECLARED).verdict.exit is ExitCode.SUCCESS
    removal = AlterVirtualClusterRequest(
        virtual_cluster=SALES,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=TOPIC.name,
    )
    (answer,) = cluster.execute([removal], validate_only=False, principal="User:other")
    assert answer.ok, answer
    return cluster


def made_again(cluster: Cluster) -> Plan:
    """The plan of a cluster from which the topic itself is gone."""
    state = cluster.read_state()
    topics = {name: topic for name, topic in state.topics.items() if topic.internal}
    return plan_of(DECLARED, replace(state, topics=topics))


def test_a_topic_that_is_there_is_not_made_again(cluster: Cluster) -> None:
    """Its records would be nobody's, and no longer protected."""
    forged = made_again(cluster)
    (change,) = forged.changes
    assert (change.before, change.actions) == (None, (Action.CREATE,))
    before = cluster.read_state()
    with pytest.raises(StaleError, match="Orders"):
        Apply(cluster=cluster).plan(sealed_now(forged, Apply(cluster=cluster).clock, "forged"))
    after = cluster.read_state()
    assert (after.topics, after.virtual_clusters) == (before.topics, before.virtual_clusters)


def test_its_link_is_made_again(cluster: Cluster) -> None:
    (topic,) = linked_to(cluster)
    applied = Apply(cluster=cluster)
    honest = sealed_now(plan_of(DECLARED, cluster.read_state()), applied.clock, "honest")
    assert applied.plan(honest, "run-2").verdict.exit is ExitCode.SUCCESS
    link = cluster.read_state().virtual_clusters[SALES].links[TOPIC.name]
    assert link.topic == topic


def linked_to(cluster: Cluster) -> list[str]:
    return [name for name in cluster.read_state().topics if name.endswith(f".{TOPIC.name}")]
