"""An apply of many batches: each starts from the predicted state, which is not lifted again."""

import pytest
from cluster.lowered.test_crashes import SCRIPT, ask, minting, physical
from cluster_contract.contract import binding, creation
from cluster_contract.tenant_requests import TOPIC, USER, acl_in, add, make

from kgitops.cluster.lowered import state_cache as lifted
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.lowering.lifting import lift
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest
from kgitops.model.resources.acls import Operation, ResourceType


@pytest.fixture
def lifts(monkeypatch: pytest.MonkeyPatch) -> list[ClusterState]:
    """The physical states that are lifted from scratch."""
    seen: list[ClusterState] = []

    def counted(state: ClusterState) -> ClusterState:
        seen.append(state)
        return lift(state)

    monkeypatch.setattr(lifted, "lift", counted)
    return seen


def test_what_a_batch_leads_to_is_what_lifting_finds(lifts: list[ClusterState]) -> None:
    """VC-411: the predicted state equals the one read from brokers and registry."""
    brokers = physical()
    cluster = LoweredCluster(brokers, minting(0))
    with_records = 0
    for name, step in SCRIPT.items():
        ask(cluster, step)
        there = brokers.read_state()
        anew, known = lift(there), cluster.read_state()
        assert known.virtual_clusters == anew.virtual_clusters, name
        assert known.acls == anew.acls, name
        assert known.quotas == anew.quotas, name
        assert known.lowered == anew.lowered, name
        with_records += bool(there.registry and there.registry.virtual_clusters)
    assert with_records > 20
    worked_out = [s for s in lifts if s.registry and s.registry.virtual_clusters]
    assert worked_out == []


def test_what_others_did_meanwhile_is_seen(lifts: list[ClusterState]) -> None:
    """VC-327: a wrong prediction is not used."""
    brokers = physical()
    cluster = LoweredCluster(brokers, minting(0))
    ask(cluster, make("a"))
    cluster.read_state()
    before = len(lifts)
    ask(LoweredCluster(brokers, minting(9)), make("b"))
    ask(brokers, CreateAclRequest(binding=binding()))
    state = cluster.read_state()
    assert len(lifts) == before + 2  # the other cluster had to look as well
    assert set(state.virtual_clusters) == {"a", "b"}
    assert binding() in state.acls


def test_more_than_a_controller_takes_in_one_go() -> None:
    """VC-166: one link may need more than 10,000 ACLs, which brokers refuse in one batch."""
    brokers = physical()
    cluster = LoweredCluster(brokers, minting(0))
    everyone = acl_in("a", ResourceType.TOPIC, "x", Operation.ALL, principal="User:*")
    for request in (creation("stream"), make("a"), CreateAclRequest(binding=everyone)):
        ask(cluster, request)
    users = [add("a", USER, f"User:u{number}") for number in range(1_700)]
    answers = cluster.execute(users, validate_only=False, principal="User:admin")
    assert all(answer.ok for answer in answers)
    ask(cluster, add("a", TOPIC, "x", topic="stream"))
    assert len(brokers.read_state().acls) == 6 * 1_700
