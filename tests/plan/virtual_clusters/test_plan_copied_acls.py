"""Rights that come along with a user, and old ones that go (VC-190 … VC-197)."""

from collections.abc import Iterable

import pytest
from builders import a_binding, a_cluster, a_desired, a_topic, an_acl, plan_of
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    ANALYTICS,
    APP,
    NO_LIMITS,
    SALES,
    a_link,
    a_local_topic,
    a_member,
    a_virtual_cluster,
    scoped,
)

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.safety import deletion_limits

X, XY, Z = (a_topic(name, deletion_policy=DeletionPolicy.ORPHAN) for name in ("x", "x.y", "z"))
HOME = a_virtual_cluster(SALES)
LINKS = [a_link("one", "x"), a_link("two", "x"), a_link("three", "x.y")]
BASE = [X, XY, Z, HOME, *LINKS]
USER = a_member(copy=CLUSTER_NAME)
READ_X = a_binding(APP, "Read", "x")


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(*objects, safety=NO_LIMITS), state)


def having(*objects: DesiredObject, acls: Iterable[AclBinding] = ()) -> ClusterState:
    state = replace(a_cluster(), acls=frozenset(acls))
    return Model(state).apply(plan(*objects, state=state)).state


def made(found: Plan) -> set[AclBinding]:
    requests = [planned.request for planned in found.requests]
    return {item.binding for item in requests if isinstance(item, CreateAclRequest)}


def deleted(found: Plan) -> set[AclBinding]:
    requests = [planned.request for planned in found.requests]
    return {item.binding for item in requests if isinstance(item, DeleteAclRequest)}


def said(found: Plan, words: str) -> bool:
    return any(words in warning.problem for warning in found.warnings)


def group(name: str, **more: str) -> AclBinding:
    return a_binding(APP, "Read", name, resource="group", **more)


TRANSLATIONS = [
    (READ_X, {scoped(SALES, APP, "Read", name) for name in ("one", "two")}),
    (
        a_binding(APP, "Write", "x", pattern="prefixed"),
        {scoped(SALES, APP, "Write", name) for name in ("one", "two", "three")},
    ),
    (a_binding(APP, "Read", "*"), {scoped(SALES, APP, "Read", "*")}),
    (a_binding(APP, "Read", "z"), set()),
    (group("g"), {scoped(SALES, APP, "Read", "g", resource="group")}),
    (
        group("g", pattern="prefixed"),
        {scoped(SALES, APP, "Read", "g", resource="group", pattern="prefixed")},
    ),
    (
        a_binding(APP, "Write", "t", resource="transactionalId"),
        {scoped(SALES, APP, "Write", "t", resource="transactionalId")},
    ),
    (
        a_binding(APP, "Read", "x", permission="Deny", host="10.0.0.1"),
        {
            scoped(SALES, APP, "Read", name, permission="Deny", host="10.0.0.1")
            for name in ("one", "two")
        },
    ),
    (a_binding(APP, "Alter", CLUSTER_NAME, resource="cluster"), set()),
    (a_binding("User:*", "Read", "x"), set()),
    (a_binding("User:other", "Read", "x"), set()),
]


@pytest.mark.parametrize(("source", "copies"), TRANSLATIONS)
def test_a_right_is_said_with_the_names_of_the_virtual_cluster(
    source: AclBinding, copies: set[AclBinding]
) -> None:
    """VC-194, VC-196: literal, prefixed, everything, groups; nobody else's and no cluster's."""
    found = plan(*BASE, USER, state=having(*BASE, acls=[source]))
    assert made(found) == copies
    untold = not copies and source.principal == APP
    assert said(found, "has no name for") is untold
    assert said(found, "ACLs for User:*") is (source.principal == "User:*")


def test_links_that_the_same_plan_makes_and_removes_count() -> None:
    """VC-194: the links are those at the end of the plan."""
    state = having(*BASE, acls=[READ_X])
    rest = [item for item in BASE if item not in LINKS]
    found = plan(*rest, a_link("one", "x"), a_link("new", "x"), USER, state=state)
    assert made(found) == {scoped(SALES, APP, "Read", name) for name in ("one", "new")}


def test_a_topic_that_is_still_to_be_made_has_no_old_rights() -> None:
    """VC-194: no source can name it, not even by a prefix."""
    state = having(*BASE, acls=[a_binding(APP, "Read", "<", pattern="prefixed")])
    assert not made(plan(*BASE, a_local_topic("n"), USER, state=state))


def test_rights_of_another_virtual_cluster_go_by_the_topic() -> None:
    """VC-190, VC-194: there local, here local; in between the physical topic."""
    away = [a_virtual_cluster(ANALYTICS), a_link("there", "x", at=ANALYTICS)]
    theirs = [
        scoped(ANALYTICS, APP, "Read", "there"),
        scoped(ANALYTICS, APP, "Write", "the", pattern="prefixed"),
        scoped(ANALYTICS, APP, "Read", "g", resource="group"),
        READ_X,
    ]
    found = plan(*BASE, *away, a_member(copy=ANALYTICS), state=having(*BASE, *away, acls=theirs))
    assert made(found) == {
        *(scoped(SALES, APP, op, name) for op in ("Read", "Write") for name in ("one", "two")),
        scoped(SALES, APP, "Read", "g", resource="group"),
    }


def test_rights_in_virtual_clusters_are_not_those_of_the_cluster() -> None:
    """VC-105: `kafka-cluster` means ACLs in no virtual cluster."""
    state = having(*BASE, acls=[scoped(SALES, APP, "Write", "one")])
    assert not made(plan(*BASE, USER, state=state))


class TestStickiness:
    """VC-197: copied once, and then desired for as long as the member asks for it."""

    def state(self) -> ClusterState:
        return having(*BASE, USER, acls=[READ_X])

    def test_a_right_that_comes_later_is_not_copied(self) -> None:
        """VC-197: one shot."""
        state = self.state()
        later = replace(state, acls=state.acls | {group("g")})
        assert plan(*BASE, USER, state=later).changes == ()

    def test_a_copy_that_somebody_deleted_comes_back(self) -> None:
        """VC-197: even when its source is gone."""
        state = self.state()
        lost = scoped(SALES, APP, "Read", "one")
        found = plan(*BASE, USER, state=replace(state, acls=state.acls - {lost, READ_X}))
        assert made(found) == {lost}

    @pytest.mark.parametrize(
        "then",
        [a_member(), a_member(copy=ANALYTICS)],
        ids=["no longer asked for", "another source"],
    )
    def test_it_goes_with_the_words_that_asked_for_it(self, then: DesiredObject) -> None:
        """VC-197."""
        away = a_virtual_cluster(ANALYTICS)
        found = plan(*BASE, away, then, state=self.state())
        assert deleted(found) == {scoped(SALES, APP, "Read", name) for name in ("one", "two")}

    def test_it_goes_with_the_member(self) -> None:
        """VC-197: but the source stays."""
        found = plan(*BASE, state=self.state())
        assert deleted(found) == {scoped(SALES, APP, "Read", name) for name in ("one", "two")}

    def test_it_goes_with_the_link_it_names(self) -> None:
        """VC-197."""
        rest = [item for item in BASE if item != LINKS[0]]
        found = plan(*rest, USER, state=self.state())
        assert deleted(found) == {scoped(SALES, APP, "Read", "one")}

    def test_declaring_it_makes_it_a_declared_one(self) -> None:
        """VC-197: a change of the registry alone; then the member may forget where it came from."""
        state = self.state()
        written = [an_acl(scoped(SALES, APP, "Read", name)) for name in ("one", "two")]
        found = plan(*BASE, USER, *written, state=state)
        assert found.requests == ()
        state = Model(state).apply(found).state
        again = plan(*BASE, a_member(), *written, state=state)
        assert not deleted(again)

    def test_a_part_of_a_project_keeps_them(self) -> None:
        """VC-197: what was not loaded asks for nothing, and removes nothing."""
        part = a_desired(*BASE, whole=False, safety=NO_LIMITS)
        assert plan_of(part, self.state()).changes == ()

    def test_they_are_no_deletions_of_declared_objects(self) -> None:
        """Contract §2: derived ACLs are excluded from the limits, and from what is managed."""
        found = plan(*BASE, state=self.state())
        assert found.managed_counts["Acl"] == 0
        gone = [change for change in found.changes if Action.DELETE in change.actions]
        assert {change.derived_from for change in gone if change.kind == "Acl"} == {(USER.address,)}

    @pytest.mark.parametrize(
        "then",
        [[*BASE, a_member()], BASE, [*BASE[:-3], *LINKS[1:], USER]],
        ids=["no longer asked for", "no member", "no link"],
    )
    def test_they_count_where_nothing_of_the_plan_explains_their_removal(
        self, then: list[DesiredObject]
    ) -> None:
        """Contract §2: a plan that removes the copies alone hides nothing from the limits."""
        found = plan(*then, state=self.state())
        alone = [change for change in found.changes if change.kind is Kind.ACL]
        assert alone
        strict = Safety(max_deletes=0)
        assert not [it for it in deletion_limits(found.changes, {}, strict) if "Acl" in it.sentence]
        (reason,) = deletion_limits(alone, {}, strict)
        assert "of kind Acl, but safety.maxDeletes is 0" in reason.sentence


class TestRemovingOldOnes:
    """VC-191 … VC-193."""

    REMOVES = a_member(copy=CLUSTER_NAME, remove=CLUSTER_NAME)

    def changes(self, found: Plan) -> list[Change]:
        return [change for change in found.changes if change.derived_from == (USER.address,)]

    def test_what_has_a_counterpart_goes_though_nobody_manages_it(self) -> None:
        """VC-191: the request says for whom."""
        state = having(*BASE, USER, acls=[READ_X])
        found = plan(*BASE, self.REMOVES, state=state)
        (change,) = found.changes
        (planned,) = change.requests
        assert planned.request == DeleteAclRequest(binding=READ_X, migrated_to=USER.address)
        assert change.risk.name == "acl-migrated"
        assert found.access_losses == ()
        assert deletion_limits(found.changes, {}, Safety(max_deletes=0)) == ()

    def test_what_has_none_stays_and_is_told(self) -> None:
        """VC-191."""
        without = a_binding(APP, "Read", "z")
        state = having(*BASE, USER, acls=[READ_X, without])
        found = plan(*BASE, self.REMOVES, state=state)
        assert deleted(found) == {READ_X}
        assert said(found, acl_address(without))

    def test_a_copy_that_goes_in_the_same_plan_is_no_counterpart(self) -> None:
        """VC-191: the translation must stand at the end of the plan."""
        state = having(*BASE, USER, acls=[READ_X])
        found = plan(*BASE, a_member(remove=CLUSTER_NAME), state=state)
        assert READ_X not in deleted(found)

    def test_a_prefix_that_reaches_further_is_told(self) -> None:
        """VC-191, §24.6: topics that it covers and that have no link."""
        wide = a_binding(APP, "Read", "", pattern="prefixed")
        found = plan(*BASE, self.REMOVES, state=having(*BASE, USER, acls=[wide]))
        assert deleted(found) == {wide}
        assert said(found, "allowed topics that have no name in emea.sales: z")

    def test_what_is_declared_can_not_be_removed_so(self) -> None:
        """VC-191: a finding where the member stands."""
        declared = an_acl(READ_X)
        found = plan(*BASE, declared, self.REMOVES, state=having(*BASE, declared, USER))
        (finding,) = found.findings
        assert finding.source == self.REMOVES.located.source
        assert found.verdict.exit is ExitCode.ERROR

    def test_what_is_no_longer_declared_goes_once(self) -> None:
        """VC-191: its document's removal does it."""
        declared = an_acl(READ_X)
        found = plan(*BASE, self.REMOVES, state=having(*BASE, declared, USER))
        (change,) = found.changes
        assert change.derived_from == ()

    def test_what_another_project_manages_is_not_touched(self) -> None:
        state = having(*BASE, an_acl(READ_X), USER, acls=[READ_X])
        assert state.registry is not None
        address = acl_address(READ_X)
        owners = {**state.registry.owners}
        owners[address] = replace(owners[address], project="theirs")
        state = replace(state, registry=replace(state.registry, owners=owners))
        found = plan(*BASE, self.REMOVES, state=state)
        assert found.verdict.exit is ExitCode.REFUSED
        assert not found.requests

    def test_both_in_one_plan_may_stop_clients(self) -> None:
        """VC-193: it is said, and the deletion waits until the user is in."""
        state = having(*BASE, acls=[READ_X])
        found = plan(*BASE, self.REMOVES, state=state)
        assert said(found, "loses the old ones in one apply")
        by_address = {change.address: change.requests for change in found.changes}
        (bind,) = by_address[USER.address]
        (old,) = by_address[acl_address(READ_X)]
        assert bind.id in old.depends_on
        later = plan(*BASE, self.REMOVES, state=having(*BASE, USER, acls=[READ_X]))
        assert not said(later, "loses the old ones in one apply")
