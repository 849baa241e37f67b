"""Members in a plan: who is let in, moved or let go, and what is said about it."""

from collections.abc import Mapping

import pytest
from builders import (
    ALL_CAPABILITIES,
    a_binding,
    a_cluster,
    a_desired,
    a_tombstone,
    an_acl,
    only_change,
    plan_of,
)
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    ANALYTICS,
    APP,
    NO_LIMITS,
    SALES,
    a_group,
    a_member,
    a_virtual_cluster,
    an_acl_in,
)

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.json.declared import DeletionPolicy, DesiredMember, DesiredObject, MembersMode
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN
HOME, AWAY = a_virtual_cluster(SALES), a_virtual_cluster(ANALYTICS)
CLIENT, TXN = EntityType.CLIENT_ID, EntityType.TRANSACTIONAL_ID


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(HOME, AWAY, *objects, safety=NO_LIMITS), state)


def having(*objects: DesiredObject, acls: tuple[AclBinding, ...] = ()) -> ClusterState:
    state = Model(a_cluster()).apply(plan(*objects, state=a_cluster())).state
    return replace(state, acls=state.acls | set(acls))


def with_members(state: ClusterState, name: str = SALES, **members: object) -> ClusterState:
    """Somebody else changed who belongs to the virtual cluster."""
    found = replace(state.virtual_clusters[name], **members)  # type: ignore[arg-type]
    return replace(state, virtual_clusters={**state.virtual_clusters, name: found})


def alterations(found: Plan) -> list[req.AlterVirtualClusterRequest]:
    requests = [planned.request for planned in found.requests]
    return [item for item in requests if isinstance(item, req.AlterVirtualClusterRequest)]


EVERY_KIND = [
    (a_member(), "vc/emea.sales/user/User:sales-app", "VirtualClusterBinding"),
    (a_member("b", entity_type=CLIENT), "vc/emea.sales/client/b", "VirtualClusterBinding"),
    (a_group("g"), "vc/emea.sales/group/g", "ConsumerGroup"),
    (a_member("t", entity_type=TXN), "vc/emea.sales/txn/t", "VirtualClusterBinding"),
]


@pytest.mark.parametrize(("member", "address", "kind"), EVERY_KIND)
def test_a_member_comes_and_goes_by_one_request(
    member: DesiredMember, address: str, kind: str
) -> None:
    """VC-080, VC-081, VC-110, VC-120: added, then nothing, then removed."""
    added = only_change(plan(member, state=having()))
    assert (added.address, added.kind, added.actions) == (address, kind, (Action.CREATE,))
    state = having(member)
    assert plan(member, state=state).changes == ()
    removed = plan(state=state)
    assert only_change(removed).actions == (Action.DELETE,)
    (request,) = alterations(removed)
    assert request.change is ChangeType.REMOVE
    assert (request.entity_type, request.entity_name) == (member.entity_type, member.name)


def test_letting_someone_in_is_told_as_a_cut_over() -> None:
    """VC-091, VC-412: as the change's risk, and in one warning for the virtual cluster."""
    found = plan(a_member(), a_member("User:b"), state=having())
    assert {change.risk.name for change in found.changes} == {"member-bind"}
    (warning,) = (w for w in found.warnings if "see the names" in w.problem)
    assert "User:b, User:sales-app" in warning.problem
    assert SALES in warning.problem


def test_where_brokers_translate_no_names_clients_have_to_be_configured() -> None:
    """VC-048, VC-412: nothing is said of names that brokers would show."""
    lowered = replace(ALL_CAPABILITIES, virtual_clusters=VirtualClusterSupport.LOWERED)
    found = plan_of(a_desired(HOME, AWAY, a_member(), safety=NO_LIMITS), having(), lowered)
    (warning,) = found.warnings
    assert "translate no names" in warning.problem
    assert f"begin with {SALES}:" in warning.problem
    assert "kgitops vc bindings" in warning.advice


def test_where_a_gateway_translates_names_clients_have_to_connect_to_it() -> None:
    """VC-412: and nobody is sent to a binding sheet."""
    lowered = replace(ALL_CAPABILITIES, virtual_clusters=VirtualClusterSupport.LOWERED)
    desired = replace(
        a_desired(HOME, AWAY, a_member(), safety=NO_LIMITS),
        gateway=DeclaredGateway(bootstrap_servers="kafka.example.com:9092"),
    )
    (warning,) = plan_of(desired, having(), lowered).warnings
    assert "connect to the gateway at kafka.example.com:9092 see the names" in warning.problem
    assert "kgitops vc bindings" not in str(warning)


@pytest.mark.parametrize("word", ["copy", "remove"])
def test_acls_come_from_a_virtual_cluster_that_there_is(word: str) -> None:
    """VC-190: else a misspelt name lets a user in without its rights."""
    here = a_member(**{word: ANALYTICS})
    missing = a_member(**{word: "analytisc"})
    assert plan(here, state=having()).findings == ()
    (finding,) = plan(missing, state=having()).findings
    assert "names the virtual cluster analytisc, which is neither on the cluster" in str(finding)
    left = having(here)
    gone = replace(left, virtual_clusters={SALES: left.virtual_clusters[SALES]})
    stays = plan_of(a_desired(HOME, here, safety=NO_LIMITS), gone)
    assert not any("neither on" in str(finding) for finding in stays.findings), "done long ago"


class TestMoving:
    """VC-086: from one virtual cluster to another, never through none."""

    def test_with_move_it_is_one_request(self) -> None:
        """VC-086, VC-403a: an update under the new address; the old one is only forgotten."""
        state = having(a_member(at=ANALYTICS))
        found = plan(a_member(move=True), state=state)
        assert [(c.address, c.actions) for c in found.changes] == [
            ("vc/analytics/user/User:sales-app", (Action.FORGET,)),
            ("vc/emea.sales/user/User:sales-app", (Action.UPDATE,)),
        ]
        (request,) = alterations(found)
        assert (request.virtual_cluster, request.moved_from) == (SALES, ANALYTICS)
        done = Model(state).apply(found).state
        assert done.virtual_clusters[ANALYTICS].users == frozenset()
        assert plan(a_member(move=True), state=done).changes == ()

    @pytest.mark.parametrize("member", [a_member(), a_member("b", entity_type=CLIENT)])
    def test_without_it_is_refused_and_names_where_it_is(self, member: DesiredMember) -> None:
        """VC-080, VC-081: a user and a client id belong to one virtual cluster at most."""
        theirs = a_member(member.name, at=ANALYTICS, entity_type=member.entity_type)
        found = plan(member, state=having(theirs))
        (finding,) = found.findings
        assert "belongs to analytics" in finding.problem
        assert "move: true" in finding.advice

    def test_what_goes_from_the_old_home_waits_for_the_move(self) -> None:
        """VC-401: the rights there are taken once nobody needs them."""
        there = an_acl_in(ANALYTICS, APP, "Read", "x")
        state = having(a_member(at=ANALYTICS), there)
        found = plan(a_member(move=True), state=state)
        by_address = {c.address: c.requests for c in found.changes}
        (move,) = by_address["vc/emea.sales/user/User:sales-app"]
        (revoke,) = by_address[there.address]
        assert move.id in revoke.depends_on

    def test_from_another_project_is_refused(self) -> None:
        state = having(a_member(at=ANALYTICS))
        assert state.registry is not None
        old = "vc/analytics/user/User:sales-app"
        owners = {**state.registry.owners}
        owners[old] = replace(owners[old], project="theirs")
        state = replace(state, registry=replace(state.registry, owners=owners))
        found = plan(a_member(move=True), state=state)
        assert found.verdict.exit is ExitCode.REFUSED
        assert not found.requests

    def test_a_member_that_nobody_manages_can_be_taken(self) -> None:
        """VC-086: ``move`` is the reviewed word for it."""
        state = with_members(having(), ANALYTICS, users=frozenset({APP}))
        (change,) = plan(a_member(move=True), state=state).changes
        assert change.actions == (Action.UPDATE,)


class TestGroups:
    """VC-114, VC-115, VC-119."""

    def test_a_group_that_takes_over_copies_what_was_committed(self) -> None:
        """VC-114: once it is there; the copy expects the group."""
        found = plan(a_group("g", adopt="old"), state=having())
        add, copy = found.requests
        assert isinstance(copy.request, req.CopyGroupOffsetsRequest)
        assert (copy.request.group, copy.request.source) == ("g", "old")
        assert copy.depends_on == (add.id,)
        assert copy.expects.object == "vc/emea.sales/group/g"
        assert only_change(found).risk.name == "group-take-over"

    def test_it_may_begin_without(self) -> None:
        """VC-114: ``copyOffsets: false``."""
        group = a_member("g", entity_type=EntityType.GROUP, adopt="old", copy_offsets=False)
        (request,) = plan(group, state=having()).requests
        assert isinstance(request.request, req.AlterVirtualClusterRequest)

    def test_a_global_group_has_one_heir(self) -> None:
        """VC-115: the finding names it."""
        state = having(a_group("g", at=ANALYTICS, adopt="old"))
        mine = a_group("h", adopt="old")
        found = plan(a_group("g", at=ANALYTICS, adopt="old"), mine, state=state)
        (finding,) = found.findings
        assert "was taken over by analytics/g" in finding.problem

    def test_one_name_may_be_in_two_virtual_clusters(self) -> None:
        """VC-110: they are two groups."""
        found = plan(a_group("g"), a_group("g", at=ANALYTICS), state=having())
        assert len(found.changes) == 2
        assert not found.findings

    def test_taking_over_later_is_an_update(self) -> None:
        state = having(a_group("g"))
        found = plan(a_group("g", adopt="old"), state=state)
        change = only_change(found)
        assert [(f.path, f.before, f.after) for f in change.fields] == [("adopts", None, "old")]
        assert change.preconditions[0].fields == {"adopts": None}
        assert len(change.requests) == 2

    def test_removing_one_keeps_its_offsets(self) -> None:
        """VC-119: unless Delete is written."""
        found = plan(state=having(a_group("g")))
        assert only_change(found).risk.name == "group-remove"
        assert not any(isinstance(p.request, req.DeleteGroupRequest) for p in found.requests)

    def test_its_offsets_go_where_that_is_written(self) -> None:
        """VC-119: the group first, so that a consumer that is still in it stops all."""
        group = a_member("g", entity_type=EntityType.GROUP, deletion_policy=DELETE)
        found = plan(state=having(group))
        drop, remove = found.requests
        assert isinstance(drop.request, req.DeleteGroupRequest)
        assert drop.id in remove.depends_on
        assert only_change(found).risk.name == "group-delete"

    def test_a_tombstone_means_it_too(self) -> None:
        """VC-119."""
        group = a_group("g")
        desired = a_desired(HOME, AWAY, a_tombstone(group), safety=NO_LIMITS)
        found = plan_of(desired, having(group))
        assert isinstance(found.requests[0].request, req.DeleteGroupRequest)


class TestUnbinding:
    """VC-089: what a user can do once it is out."""

    def test_rights_of_the_cluster_itself_are_told(self) -> None:
        """VC-089: in the change, and as a warning."""
        left = a_binding(APP, "Read", "x")
        found = plan(state=having(a_member(), acls=(left,)))
        change = only_change(found)
        assert "member-exposed" in {risk.name for risk in change.risks}
        assert change.impact == {"still_allowed": [acl_address(left)]}
        assert any(acl_address(left) in warning.problem for warning in found.warnings)

    @pytest.mark.parametrize("other", [a_binding("User:other"), a_binding(APP, permission="Deny")])
    def test_nothing_is_said_where_it_can_do_nothing(self, other: AclBinding) -> None:
        """VC-089."""
        found = plan(state=having(a_member(), acls=(other,)))
        assert [risk.name for risk in only_change(found).risks] == ["member-unbind"]

    def test_its_rights_go_after_it(self) -> None:
        """VC-089, VC-401: D110 before D120."""
        right = an_acl_in(SALES, APP, "Read", "x")
        found = plan(state=having(a_member(), right))
        unbind, revoke = found.requests
        assert unbind.id in revoke.depends_on

    def test_an_orphan_stays_where_it_is(self) -> None:
        change = only_change(plan(state=having(a_member(deletion_policy=ORPHAN))))
        assert change.actions == (Action.FORGET,)
        assert change.requests == ()


STRANGERS: Mapping[str, object] = {
    "users": frozenset({"User:x"}),
    "client_ids": frozenset({"x"}),
    "groups": {"x": None},
    "transactional_ids": frozenset({"x"}),
}


class TestMembersThatNobodyDeclares:
    """VC-095: drift where the list is authoritative, and left alone always."""

    @pytest.mark.parametrize("kind", STRANGERS)
    def test_authoritative(self, kind: str) -> None:
        """VC-095, VC-409."""
        state = with_members(having(), **{kind: STRANGERS[kind]})
        found = plan(state=state)
        (row,) = found.drift
        assert (row.rule, row.found) == ("undeclared", "present")
        assert found.changes == ()
        assert row.address in {kept.address for kept in found.kept}

    @pytest.mark.parametrize("kind", STRANGERS)
    def test_additive(self, kind: str) -> None:
        """VC-095."""
        state = with_members(having(), **{kind: STRANGERS[kind]})
        additive = a_virtual_cluster(SALES, mode=MembersMode.ADDITIVE)
        found = plan_of(a_desired(additive, AWAY, safety=NO_LIMITS), state)
        assert found.drift == ()

    def test_of_another_project(self) -> None:
        """VC-095: what another project manages there is its own business."""
        state = having(a_member())
        assert state.registry is not None
        owners = {**state.registry.owners}
        address = "vc/emea.sales/user/User:sales-app"
        owners[address] = replace(owners[address], project="theirs")
        state = replace(state, registry=replace(state.registry, owners=owners))
        found = plan(state=state)
        assert found.drift == ()
        assert [(k.address, k.rule) for k in found.kept] == [(address, "foreign")]


def test_what_was_to_be_done_once_is_no_change() -> None:
    """VC-191, VC-406: writing or removing `move` or `removeOldAclsFrom` changes nothing."""
    state = having(a_member())
    assert plan(a_member(remove="kafka-cluster", move=True), state=state).changes == ()


def test_a_member_that_exists_is_adopted() -> None:
    """VC-046: nothing is added that is there."""
    state = with_members(having(), users=frozenset({APP}))
    change = only_change(plan(a_member(), state=state))
    assert change.actions == (Action.ADOPT,)
    assert change.requests == ()


def test_a_member_that_somebody_removed_comes_back() -> None:
    state = with_members(having(a_member()), users=frozenset())
    found = plan(a_member(), state=state)
    assert only_change(found).actions == (Action.CREATE,)
    assert [row.rule for row in found.drift] == ["missing"]


def test_a_member_of_nothing_is_an_error_at_its_place() -> None:
    """VC-026."""
    lost = a_member(at="nowhere")
    (finding,) = plan(lost, state=having()).findings
    assert finding.source == lost.located.source
    assert "nowhere" in finding.problem


def test_who_is_let_in_comes_last() -> None:
    """VC-090: after every right, quota, group and link of the virtual cluster."""
    found = plan(a_member(), a_group("g"), an_acl_in(SALES, APP, "Read", "x"), state=having())
    *before, bind = found.requests
    assert {planned.id for planned in before} == set(bind.depends_on)


def test_global_rights_wait_for_nobody() -> None:
    """VC-004: they are as they were without virtual clusters."""
    acl = an_acl(a_binding())
    found = plan(a_member(), acl, state=having())
    (change,) = (change for change in found.changes if change.address == acl.address)
    assert change.requests[0].depends_on == ()
