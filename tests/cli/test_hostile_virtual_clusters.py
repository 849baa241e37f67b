"""Virtual clusters where others interfere: nothing is lost, exposed, or left to nobody."""

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.golden import G1, G2, G3, STREAM, Golden
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import RequestResult
from kgitops.plan.document.file import seal, to_text
from kgitops.plan.document.plan import Change, Precondition
from kgitops.plan.reading import read_plan

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
    """A cluster whose brokers have no virtual clusters."""
    return _scenario(here / "golden", kgitops, lowered=True)


@pytest.fixture(params=[False, True], ids=["native", "lowered"])
def golden(request: pytest.FixtureRequest, here: Path, kgitops: Kgitops) -> Golden:
    """Of both kinds."""
    return _scenario(here / "golden", kgitops, lowered=bool(request.param))


def _brokers(golden: Golden) -> ClusterState:
    """What brokers have, without what it stands for."""
    with closing(golden.connect()) as cluster:
        assert isinstance(cluster, LoweredCluster)
        return cluster.physical.read_state()


def _behind(golden: Golden, request: req.Request) -> None:
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
    _behind(lowered, req.DeleteAclRequest(binding=first))
    _behind(lowered, req.AlterClientQuotaRequest(entity=ANA, quotas={"request_percentage": 7.0}))
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


def _linked_elsewhere(golden: Golden) -> req.Request:
    reports = golden.state().virtual_clusters["analytics"].links["Reports"].topic
    return req.AlterVirtualClusterRequest(
        virtual_cluster="emea.sales",
        entity_type=EntityType.TOPIC,
        entity_name="reports",
        topic=reports,
    )


def _bound(virtual_cluster: str) -> req.Request:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        entity_type=EntityType.USER,
        entity_name="User:late",
    )


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("link", "vc/analytics/topic/Reports: link "
         "vc/emea.sales/link/reports was added after the plan was made"),
        ("member", "vc/analytics: member "
         "vc/analytics/user/User:late was added after the plan was made"),
    ],
)  # fmt: skip
def test_what_others_put_where_a_plan_deletes_makes_it_stale(
    golden: Golden, kgitops: Kgitops, kind: str, named: str
) -> None:
    """VC-413: object and field are named, and nothing that could be removed is removed."""
    for commit in (2, 3):
        golden.check_out(commit)
        assert kgitops("apply", golden.folder, "--auto-approve").code == 0
    golden.check_out(4)
    saved = golden.folder / "plan.json"
    assert kgitops("plan", golden.folder, "-o", saved).code == 0
    golden.change_behind(_linked_elsewhere(golden) if kind == "link" else _bound("analytics"))
    before = golden.state().virtual_clusters
    ran = kgitops("apply", saved)
    assert (ran.code, named in ran.said) == (4, True), ran.said
    assert golden.state().virtual_clusters == before


def test_a_user_whom_others_bound_elsewhere_makes_the_plan_stale(
    golden: Golden, kgitops: Kgitops
) -> None:
    """VC-413, VC-080: the rights that would go before it are not made either."""
    golden.add(
        "apiVersion: kgitops/v1\nkind: VirtualClusterBinding\n"
        "metadata: {name: late, virtualCluster: emea.sales}\nspec: {user: User:late}\n---\n"
        f"{EVERYONE}"
    )
    saved = golden.folder / "plan.json"
    assert kgitops("plan", golden.folder, "-o", saved).code == 0
    golden.change_behind(_bound("analytics"))
    acls = golden.state().acls
    ran = kgitops("apply", saved)
    assert ran.code == 4, ran.said
    assert "vc/emea.sales/user/User:late: it was bound to the virtual cluster" in ran.said
    assert golden.state().acls == acls


def test_an_old_right_stays_where_its_counterpart_went_meanwhile(
    golden: Golden, kgitops: Kgitops
) -> None:
    """VC-191, VC-413: nobody manages the old one, so the plan that would delete it is stale."""
    golden.check_out(2)
    saved = golden.folder / "plan.json"
    assert kgitops("plan", golden.folder, "-o", saved).code == 0
    (counterpart,) = (
        acl for acl in golden.state().acls if acl.scoped and acl.resource_name == G3.resource_name
    )
    golden.change_behind(req.DeleteAclRequest(binding=counterpart))
    ran = kgitops("apply", saved)
    assert ran.code == 4, ran.said
    assert (
        "vc/emea.sales/acl/User:sales-app/Allow/Read/group/literal/sales-etl@*: the object was "
        "present and is absent" in ran.said
    )
    assert {G1, G2, G3} <= golden.state().acls


def _forged(saved: Path, binding: AclBinding) -> None:
    """Let the plan delete another binding for the same member, and seal it again."""
    sealed = read_plan(saved.read_text(), saved.name)
    expects = Precondition(object=acl_address(binding), exists=True, owner=None)

    def other(change: Change) -> Change:
        (planned,) = change.requests
        assert isinstance(planned.request, req.DeleteAclRequest)
        request = replace(planned.request, binding=binding)
        asking = tuple(it for it in change.preconditions if "/user/" in it.object)
        return replace(
            change,
            address=expects.object,
            preconditions=(expects, *asking),
            requests=(
                replace(planned, id=f"{expects.object}#1", request=request, expects=expects),
            ),
        )

    plan = replace(sealed.plan, changes=(other(sealed.plan.changes[0]),))
    forged = seal(
        plan,
        captured_at=sealed.captured_at,
        created=sealed.created,
        expires=sealed.expires,
        nonce="f" * 32,
    )
    saved.write_text(to_text(forged))


@pytest.mark.parametrize("principal", ["User:sales-app", "User:other"])
def test_a_forged_plan_deletes_no_right_that_the_member_has_not_as_well(
    golden: Golden, kgitops: Kgitops, principal: str
) -> None:
    """VC-191: neither another user's, nor one of its own without a counterpart."""
    binding = replace(G3, principal=principal, resource_name="untold")
    golden.change_behind(req.CreateAclRequest(binding=binding))
    golden.check_out(2)
    saved = golden.folder / "plan.json"
    assert kgitops("plan", golden.folder, "-o", saved).code == 0
    _forged(saved, binding)
    ran = kgitops("apply", saved)
    assert (ran.code, "has the same right, but it does not" in ran.said) == (5, True), ran.said
    assert binding in golden.state().acls


@pytest.mark.parametrize("declared", [True, False])
def test_a_topic_whose_link_others_removed_is_found_again(
    golden: Golden, kgitops: Kgitops, *, declared: bool
) -> None:
    """VC-031, VC-032: it gets its link back, or is forgotten, and keeps its records."""
    golden.add(
        "apiVersion: kgitops/v1\nkind: Topic\n"
        "metadata: {name: Mine, virtualCluster: emea.sales}\n"
        "spec: {partitions: 1, replicationFactor: 1, deletionPolicy: Orphan}\n"
    )
    assert kgitops("apply", golden.folder, "--auto-approve").code == 0
    topic = golden.state().virtual_clusters["emea.sales"].links["Mine"].topic
    golden.change_behind(
        req.AlterVirtualClusterRequest(
            virtual_cluster="emea.sales",
            change=ChangeType.REMOVE,
            entity_type=EntityType.TOPIC,
            entity_name="Mine",
        )
    )
    if not declared:
        (golden.folder / "manifests" / "more.yaml").unlink()
    ran = kgitops("apply", golden.folder, "--auto-approve")
    assert ran.code == 0, ran.said
    state = golden.state()
    assert topic in state.topics
    assert ("Mine" in state.virtual_clusters["emea.sales"].links) is declared
    assert kgitops("plan", golden.folder, "--detailed-exitcode").code == 0


class KilledError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("begun", [EVERYONE, LIMIT], ids=["acl", "quota"])
def test_what_an_interrupted_apply_began_goes_when_it_is_no_longer_declared(
    lowered: Golden, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    """VC-329, VC-220: a new plan instead of a resume leaves no right and hides no global quota."""
    _behind(lowered, req.AlterClientQuotaRequest(entity=ANA, quotas={"request_percentage": 9.0}))
    before = _brokers(lowered)
    lowered.add(begun)
    real = EmbeddedCluster.execute

    def dying(
        self: EmbeddedCluster,
        requests: Sequence[req.Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        results = real(
            self, requests, validate_only=validate_only, principal=principal, until_ms=until_ms
        )
        if not validate_only:
            raise KilledError
        return results

    with monkeypatch.context() as patch, suppress(KilledError):
        patch.setattr(EmbeddedCluster, "execute", dying)
        kgitops("apply", lowered.folder, "--auto-approve")
    assert (_brokers(lowered).acls, _brokers(lowered).quotas) != (before.acls, before.quotas)
    lowered.add(
        "apiVersion: kgitops/v1\nkind: Topic\nmetadata: {name: other}\n"
        "spec: {partitions: 1, replicationFactor: 1}\n"
    )
    for _ in range(2):
        ran = kgitops("apply", lowered.folder, "--auto-approve")
        assert ran.code == 0, ran.said
    after = _brokers(lowered)
    assert (after.acls, after.quotas) == (before.acls, before.quotas)
    assert kgitops("plan", lowered.folder, "--detailed-exitcode").code == 0
