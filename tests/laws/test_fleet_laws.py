"""Laws of whole fleets: any project, through the commands' pipeline, on both kinds of brokers.

Each chain has three desired states of one project on a cluster where another project has a virtual
cluster, where groups and rights were there before, and which others change in between.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import a_binding, an_entity
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from laws.fleet_documents import FOREIGN_USER, USERS, VIRTUAL_CLUSTERS, fleets, write
from laws.fleet_surroundings import of_the_other_project, settle
from laws.twin_clusters import Twin, twins, workspace_of
from msgspec import Struct
from msgspec.structs import replace
from strategies import SALTED
from tiers import examples

from kgitops.kinds.virtual_clusters import local_acl
from kgitops.lowering import lifting
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, SafetyError
from kgitops.model.lowered import Lowered
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, kind_of
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document.plan import Plan
from kgitops.plan.ownership import Ownership
from kgitops.workflow.project.selection import Workspace


class Turn(Struct, frozen=True, kw_only=True):
    """A desired state, planned on both clusters; ``again`` holds the plans after the applies.

    ``foreign`` is what the other project had on each when the chain began. ``tampered``: somebody
    deleted bindings that stand for virtual clusters, which only one of the two has.
    """

    native: Twin
    lowered: Twin
    plans: tuple[Plan, Plan]
    again: tuple[Plan, Plan] | None
    foreign: Sequence[tuple[object, frozenset[AclBinding]]]
    tampered: bool

    @property
    def both(self) -> tuple[Twin, Twin]:
        return self.native, self.lowered


Law = Callable[[Turn], None]


def chains(data: st.DataObject, *laws: Law, count: int = 3) -> None:
    """Check each turn of a chain against all laws."""
    with TemporaryDirectory() as name, twins(Path(name)) as both:
        folder = Path(name) / "fleet"
        settle(both, Path(name))
        foreign = [of_the_other_project(twin) for twin in both]
        tampered = False
        for number in range(count):
            if number:
                tampered |= _disturb(data, both)
            write(folder, "fleet", data.draw(fleets(3 + number), label="documents"))
            planned = _planned(both, workspace_of(folder), number)
            if planned is None:
                continue
            plans, again = planned
            turn = Turn(
                native=both[0],
                lowered=both[1],
                plans=plans,
                again=again,
                foreign=foreign,
                tampered=tampered,
            )
            for law in laws:
                law(turn)
            tampered = tampered and again is None


def _planned(
    both: tuple[Twin, Twin], workspace: Workspace, number: int
) -> tuple[tuple[Plan, Plan], tuple[Plan, Plan] | None] | None:
    """The plans on both and, where nothing stops them, those after their applies.

    None where the documents contradict each other, so that there is nothing to plan.
    """
    for twin in both:
        twin.learn(number)
    try:
        sealed = both[0].plan(workspace), both[1].plan(workspace)
    except FindingsError:
        return None
    plans = sealed[0].plan, sealed[1].plan
    if any(plan.verdict.stops for plan in plans):
        return plans, None
    for twin, planned in zip(both, sealed, strict=True):
        if planned.plan.changes:
            twin.apply(planned, workspace)
        twin.learn(number)
    return plans, (both[0].plan(workspace).plan, both[1].reopened().plan(workspace).plan)


# What others do in between


def _disturb(data: st.DataObject, both: tuple[Twin, Twin]) -> bool:
    """Others change what both would let them; whether they changed lowered bindings behind it."""
    for make in data.draw(st.lists(st.sampled_from(MISCHIEF), max_size=3), label="mischief"):
        number = data.draw(st.integers(0, 9), label="which")
        asked = [make(twin.cluster.read_state(), number) for twin in both]
        if all(
            request and twin.ask(request, only_validate=True)
            for twin, request in zip(both, asked, strict=True)
        ):
            assert all(
                twin.ask(request) for twin, request in zip(both, asked, strict=True) if request
            )
    if data.draw(st.integers(0, 3), label="tamper with bindings if 3") != 3:
        return False
    return _tamper_with_bindings(both[1])


def _tamper_with_bindings(lowered: Twin) -> bool:
    """Delete a binding that stands for virtual clusters; the next apply makes it again.

    One that stands for a right that no project owns is put back: nothing makes that one again.
    """
    before = lowered.cluster.read_state()
    owned = before.registry.owners if before.registry else {}
    for binding in sorted(lowered.physical.read_state().acls - before.acls):
        if binding.principal == FOREIGN_USER or not _ask(
            lowered, req.DeleteAclRequest(binding=binding)
        ):
            continue
        lost = before.acls - lowered.reopened().cluster.read_state().acls
        if all(acl_address(it) in owned for it in lost):
            return True
        assert _ask(lowered, req.CreateAclRequest(binding=binding))
    return False


def _ask(lowered: Twin, request: req.Request) -> bool:
    """Ask the brokers themselves, as somebody who knows nothing of virtual clusters."""
    (result,) = lowered.physical.execute([request], validate_only=False, principal="User:someone")
    return result.ok


def _own(state: ClusterState, number: int) -> str | None:
    """A virtual cluster of the project, if there is one."""
    names = sorted(set(state.virtual_clusters) & set(VIRTUAL_CLUSTERS))
    return names[number % len(names)] if names else None


def _a_stranger_comes(state: ClusterState, number: int) -> req.Request | None:
    name = _own(state, number)
    return _alter(name, EntityType.USER, "User:stranger") if name else None


def _a_link_goes(state: ClusterState, number: int) -> req.Request | None:
    name = _own(state, number)
    links = sorted(state.virtual_clusters[name].links) if name else []
    if not name or not links:
        return None
    return _alter(name, EntityType.TOPIC, links[number % len(links)], ChangeType.REMOVE)


def _a_user_goes(state: ClusterState, number: int) -> req.Request | None:
    name = _own(state, number)
    users = sorted(state.virtual_clusters[name].users) if name else []
    if not name or not users:
        return None
    return _alter(name, EntityType.USER, users[number % len(users)], ChangeType.REMOVE)


def _a_right_goes(state: ClusterState, number: int) -> req.Request | None:
    found = sorted(it for it in state.acls if it.principal != FOREIGN_USER and it.scoped)
    return req.DeleteAclRequest(binding=found[number % len(found)]) if found else None


def _a_right_comes(state: ClusterState, number: int) -> req.Request | None:
    name = _own(state, number)
    if not name:
        return None
    principal = f"User:{USERS[number % 2].removeprefix('User:')}"
    binding = a_binding(principal, "Describe", "Log", virtual_cluster=name)
    return None if binding in state.acls else req.CreateAclRequest(binding=binding)


def _a_quota_is_set(state: ClusterState, number: int) -> req.Request | None:
    name = _own(state, number)
    parts = {"user": "jane"} | ({"virtual_cluster": name} if name and number % 2 else {})
    return req.AlterClientQuotaRequest(
        entity=an_entity(**parts), quotas={"request_percentage": 5.0}
    )


def _a_password_is_set(_: ClusterState, number: int) -> req.Request:
    return req.SaltedCredentialsRequest(
        user=USERS[number % 2].removeprefix("User:"),
        mechanism=list(ScramMechanism)[number % 3 % 2],
        iterations=4096 + number,
        salted=SALTED,
    )


def _one_is_made(_: ClusterState, number: int) -> req.Request:
    return req.CreateVirtualClusterRequest(virtual_cluster=VIRTUAL_CLUSTERS[number % 3])


def _alter(
    name: str, kind: EntityType, entity: str, change: ChangeType = ChangeType.ADD
) -> req.Request:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=name, change=change, entity_type=kind, entity_name=entity
    )


MISCHIEF: Sequence[Callable[[ClusterState, int], req.Request | None]] = (
    _a_stranger_comes,
    _a_link_goes,
    _a_user_goes,
    _a_right_goes,
    _a_right_comes,
    _a_quota_is_set,
    _a_password_is_set,
    _one_is_made,
)


# The laws


def planning_after_applying_is_empty(turn: Turn) -> None:
    for plan in turn.again or ():
        assert plan.changes == ()
        assert not plan.verdict.stops


def both_are_planned_in_the_same_words(turn: Turn) -> None:
    if turn.tampered:
        return
    native, lowered = turn.plans
    if lowered.findings and not native.findings:
        return  # what a Kafka can't be asked for is refused there alone
    assert turn.native.logical(native) == turn.lowered.logical(lowered)
    if turn.again:
        assert turn.native.logical(turn.again[0]) == turn.lowered.logical(turn.again[1])


def nothing_of_the_other_project_changes(turn: Turn) -> None:
    """Wide rights of this project may give its user more on brokers, and nothing takes any."""
    for twin, (has, bindings) in zip(turn.both, turn.foreign, strict=True):
        has_now, bindings_now = of_the_other_project(twin)
        assert has_now == has
        assert bindings <= bindings_now


def what_is_remembered_is_what_is_written(turn: Turn) -> None:
    remembered = turn.lowered.cluster.read_state()
    fresh = turn.lowered.reopened().cluster.read_state()
    assert _told(remembered) == _told(fresh)


def _told(state: ClusterState) -> object:
    """All but the moment, and from which documents the value of a lowered quota follows."""
    lowered = state.lowered
    assert lowered
    quotas = {place: (it.value, it.hidden, it.found) for place, it in lowered.quotas.items()}
    return replace(state, captured_at="", lowered=replace(lowered, quotas={})), quotas


def all_laws(data: st.DataObject) -> None:
    chains(
        data,
        planning_after_applying_is_empty,
        both_are_planned_in_the_same_words,
        nothing_of_the_other_project_changes,
        what_is_remembered_is_what_is_written,
    )


@settings(max_examples=examples(40))
@given(st.data())
def test_fleets_obey(data: st.DataObject) -> None:
    """VC-322, VC-403, VC-406, VC-409, VC-411: whatever is declared and whatever others do, the plan
    after an apply is empty on both, both are planned in the same words, nothing of another project
    changes, and what a process remembers is what another one reads."""
    all_laws(data)


@pytest.mark.slow
def test_copies_that_are_made_only_once_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_acl, "_kept", lambda _: {})
    assert_caught(lambda data: chains(data, planning_after_applying_is_empty))


@pytest.mark.slow
def test_quotas_that_hide_what_was_meant_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lifting._declared_quotas
    monkeypatch.setattr(
        lifting,
        "_declared_quotas",
        lambda state, records, lowered: real(state, records, Lowered()),
    )
    assert_caught(lambda data: chains(data, both_are_planned_in_the_same_words))


@pytest.mark.slow
def test_a_project_that_takes_all_for_its_own_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Ownership,
        "mine",
        lambda self, *kinds: (key for key in self.owners if kind_of(key) in kinds),
    )
    # Whoever plans so, an apply looks at the registry itself.
    assert_caught(lambda data: chains(data, nothing_of_the_other_project_changes), by=SafetyError)
