"""Virtual clusters where others interfere: nothing is lost, exposed, or left to nobody."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.golden import STREAM, Golden

from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model.acls import AclBinding
from kgitops.model.cluster_state import ClusterState
from kgitops.model.quotas import make_entity
from kgitops.model.requests import AlterClientQuotaRequest, DeleteAclRequest, Request

EVERYONE = """\
apiVersion: kgitops/v1
kind: Acl
metadata: {name: everyone}
spec:
  virtualCluster: emea.sales
  principal: User:*
  permission: Allow
  operations: [Describe]
  resource: {type: topic, name: "*"}
"""
LIMIT = """\
apiVersion: kgitops/v1
kind: ClientQuota
metadata: {name: limit}
spec:
  entity: {virtualCluster: analytics, user: ana-reader}
  quotas: {request_percentage: 50}
"""
ANA = make_entity({"user": "ana-reader"})


def _scenario(folder: Path, kgitops: Kgitops, *, lowered: bool) -> Golden:
    """The cluster of the worked scenario after its first commit."""
    scenario = Golden(folder, lowered=lowered)
    for commit in (0, 1):
        scenario.check_out(commit)
        assert kgitops("apply", scenario.folder, "--auto-approve").code == 0
        if commit == 0:
            scenario.have_history()
    return scenario


@pytest.fixture
def lowered(here: Path, kgitops: Kgitops) -> Golden:
    """Where brokers know no virtual clusters."""
    return _scenario(here / "golden", kgitops, lowered=True)


def _brokers(golden: Golden) -> ClusterState:
    """What brokers have, without what it stands for."""
    with closing(golden.connect()) as cluster:
        assert isinstance(cluster, LoweredCluster)
        return cluster.physical.read_state()


def _behind(golden: Golden, request: Request) -> None:
    """What somebody does to brokers that knows nothing of virtual clusters."""
    with closing(golden.connect()) as cluster:
        assert isinstance(cluster, LoweredCluster)
        (result,) = cluster.physical.execute(
            [request], validate_only=False, principal="User:kgitops"
        )
    assert result.ok, result


def _described(golden: Golden) -> list[AclBinding]:
    acls = _brokers(golden).acls
    return sorted(acl for acl in acls if acl.operation == "Describe")


def test_of_a_right_that_is_only_partly_there_nothing_stays_when_it_is_removed(
    lowered: Golden, kgitops: Kgitops
) -> None:
    """VC-327, VC-168: brokers lost one of two bindings; the other goes, and none comes back."""
    lowered.add(f"{EVERYONE}---\n{LIMIT}")
    assert kgitops("apply", lowered.folder, "--auto-approve").code == 0
    first, *others = _described(lowered)
    assert others
    _behind(lowered, DeleteAclRequest(binding=first))
    _behind(lowered, AlterClientQuotaRequest(entity=ANA, quotas={"request_percentage": 7.0}))
    (lowered.folder / "manifests" / "more.yaml").unlink()
    plan = json.loads(kgitops("plan", lowered.folder, "--format", "json").out)
    assert [(change["actions"], len(change["requests"])) for change in plan["changes"]] == [
        (["delete"], 1),
        (["delete"], 1),
    ]
    assert kgitops("apply", lowered.folder, "--auto-approve").code == 0
    assert _described(lowered) == []
    assert "request_percentage" not in _brokers(lowered).quotas[ANA].quotas
    lowered.add(
        "apiVersion: kgitops/v1\nkind: TopicLink\n"
        "metadata: {name: again, virtualCluster: emea.sales}\n"
        f"spec: {{target: {{physicalTopic: {STREAM}}}}}\n"
    )
    assert kgitops("apply", lowered.folder, "--auto-approve").code == 0
    assert _described(lowered) == []
