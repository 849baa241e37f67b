"""An object that moves to another address is forgotten at its old one before it moves."""

from apply.plans import Apply, open_cluster, sealed_now
from builders import a_desired, a_topic, plan_of
from plan.worked_scenario import (
    ANALYTICS,
    NO_LIMITS,
    SALES,
    a_link,
    a_local_topic,
    a_member,
    a_virtual_cluster,
)

from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan

BOTH = [a_virtual_cluster(SALES), a_virtual_cluster(ANALYTICS), a_topic("x")]


def test_a_member_and_a_name_move_on_in_one_apply() -> None:
    """VC-086, VC-403a: on real embedded brokers, with nothing left to do."""
    cluster = open_cluster()

    def plan(*objects: DesiredObject) -> Plan:
        return plan_of(
            a_desired(*BOTH, *objects, safety=NO_LIMITS), cluster.read_state(), cluster.capabilities
        )

    first = [a_member(at=ANALYTICS), a_local_topic("n", deletion_policy=DeletionPolicy.ORPHAN)]
    then = [a_member(move=True), a_link("n", "x")]
    for number, objects in enumerate((first, then)):
        apply = Apply(cluster=cluster)
        sealed = sealed_now(plan(*objects), apply.clock, f"nonce-{number}")
        result = apply.plan(sealed, f"run-{number}")
        assert result.verdict.exit is ExitCode.SUCCESS, result.verdict.reasons
    assert plan(*then).changes == ()
