"""Interrupted changes that are withdrawn or repeated: the next plan sees and repairs them."""

from typing import Any

import pytest
from cluster.lowered.interrupted import DiedError, DyingCluster
from cluster.lowered.test_crashes import SCRIPT, ask, minting, physical, seen
from cluster_contract.tenant_requests import USER, add, creation_in, make, remove

from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.lowering.report import lowering_report
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest

_MOST_BOUNDARIES = 12
_KEPT = ("virtual clusters", "acls", "quotas", "brokers' acls", "brokers' quotas")


def kept(brokers: Cluster) -> Any:  # noqa: ANN401 (texts to be compared)
    """The declared objects and those on brokers, without pending topics."""
    found = seen(brokers)
    return {what: found[what] for what in _KEPT}


def missing_again(cluster: Cluster) -> None:
    """The requests of the next plan for recorded objects that are missing."""
    state = cluster.read_state()
    lowered = state.lowered or Lowered()
    for binding in sorted(lowered.missing_acls):
        ask(cluster, CreateAclRequest(binding=binding))
    for (entity, key), value in lowered.missing_quotas.items():
        ask(cluster, AlterClientQuotaRequest(entity=entity, quotas={key: value}))


def leftovers(state: ClusterState, code: str = "L-LEFTOVER") -> list[str]:
    return [line.subject for line in lowering_report(state) if line.code == code]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SCRIPT][2:])
def test_what_was_interrupted_is_seen_and_put_right_without_asking_for_it_again(name: str) -> None:
    """VC-327, VC-329: at every boundary of each step, what the next plan sees amiss is made right,
    any other change takes along what is left over, and then it is as before the step or after."""
    boundaries = 0
    for boundary in range(_MOST_BOUNDARIES):
        brokers = physical()
        cluster = LoweredCluster(brokers, minting(0))
        for earlier, step in SCRIPT.items():
            if earlier == name:
                break
            ask(cluster, step)
        ask(cluster, make("elsewhere"))
        before = kept(brokers)
        undisturbed = physical()
        other = LoweredCluster(undisturbed, minting(0))
        for earlier, step in SCRIPT.items():
            ask(other, step)
            if earlier == name:
                break
        ask(other, make("elsewhere"))
        after = kept(undisturbed)
        dying = DyingCluster(brokers, boundary)
        try:
            ask(LoweredCluster(dying, minting(50)), SCRIPT[name])  # type: ignore[arg-type]
        except DiedError:
            boundaries += 1
        else:
            break
        again = LoweredCluster(brokers, minting(99))
        missing_again(again)
        if kept(brokers) not in (before, after):
            assert leftovers(again.read_state()), f"nobody sees it at boundary {boundary}"
            ask(again, add("elsewhere", USER, "User:somebody"))
            ask(again, remove("elsewhere", USER, "User:somebody"))
        assert kept(brokers) in (before, after), f"died at boundary {boundary}"
        assert not leftovers(again.read_state())
    assert boundaries >= 2


def test_a_topic_that_is_in_no_virtual_cluster_yet_is_shown() -> None:
    """VC-063: nothing else that lists topics of virtual clusters would show it."""
    brokers = physical()
    ask(LoweredCluster(brokers), make("a"))
    dying = DyingCluster(brokers, 3)
    with pytest.raises(DiedError):
        ask(LoweredCluster(dying), creation_in("a", "Orders"))  # type: ignore[arg-type]
    (topic,) = brokers.read_state().topics
    assert leftovers(LoweredCluster(brokers).read_state(), "L-PENDING") == [topic]
    ask(LoweredCluster(brokers), creation_in("a", "Orders"))
    assert leftovers(LoweredCluster(brokers).read_state(), "L-PENDING") == []
    brokers.close()
