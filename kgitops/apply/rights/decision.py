"""Deciding a project's rights to a plan's changes by the live registry, not by the plan file.

The digests of a plan prove that it is complete, not who wrote it. So nothing is sent unless every
change passes here, before the lock and while it is held: the object belongs to this project or to
none, a removed object may be removed, each request is for that object alone, and the ownership
record that is left follows from the change.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NoReturn

from msgspec import Struct

from kgitops.apply.objects import Object, find_object, link_of, local_name, topic_behind
from kgitops.apply.rights.owner_records import (
    expected_record,
    new_tombstone,
    recorded_declaration,
    releases_ownership,
)
from kgitops.apply.rights.removals import is_only_removal, may_be_given_up, may_remove
from kgitops.apply.rights.request_fit import request_problem
from kgitops.apply.rights.takeovers import check_takeovers
from kgitops.apply.rights.unowned import (
    broker_problem,
    migrated_members,
    origin_problem,
    undoing_problem,
)
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import Project
from kgitops.kinds.user_rights import foreign_users
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.resources.addresses import kind_of, member_address, topic_address
from kgitops.model.resources.kinds import KIND_OF_SORT, Kind
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import EntityType, generated_parts
from kgitops.model.verdict import Reason
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.ownership import (
    Ownership,
    OwnershipStatus,
    build_ownership,
    identity_problem,
    protection_fields,
)

_ACTIONS = (
    (Action.CREATE,),
    (Action.UPDATE,),
    (Action.ADOPT,),
    (Action.ADOPT, Action.UPDATE),
    (Action.DELETE,),
    (Action.FORGET,),
)


def check_rights(
    plan: Plan,
    changes: Sequence[Change],
    state: ClusterState,
    project: Project,
    *,
    resumed: bool = False,
) -> None:
    """Check the project's right to each of ``changes``, which are those that have not begun.

    A ``resumed`` run may have begun under a former identity of the project.

    Raises:
        SafetyError: the object is another project's, unmanaged, or protected, or a user that the
            plan's principal may not touch.
        UntrustedPlanError: a change contradicts itself, or the plan is another project's.
    """
    ownership = build_ownership(project, state.registry)
    desired = plan.desired
    same = (desired.identity, desired.project) == (project.identity, project.name)
    if not same and not (resumed and desired.identity in {project.identity, *ownership.former}):
        raise UntrustedPlanError(
            f"the plan was made for the project {desired.project!r} ({desired.identity}), and this "
            f"is {project.name!r} ({project.identity}); make a new plan"
        )
    command = project.identity == COMMAND_PROJECT
    problem = None if command else _identity_problem(plan, project, state)
    if problem:
        raise SafetyError(f"{problem.sentence}; then make a new plan")
    counts = Counter(change.address for change in plan.changes)
    twice = next((address for address, count in counts.items() if count > 1), None)
    if twice:
        raise UntrustedPlanError(f"the plan changes {twice} twice; make a new plan")
    if plan.takeovers:
        check_takeovers(plan, changes, state.registry, project, resumed=resumed)
        return
    pending = frozenset(change.address for change in changes)
    rights = _Rights(plan, pending, state, ownership, command)
    for change in changes:
        rights.check(change)
    for change, reason in foreign_users(plan, changes, state):
        raise SafetyError(f"{change.address} is denied: {reason}")


def _identity_problem(plan: Plan, project: Project, state: ClusterState) -> Reason | None:
    return identity_problem(
        project,
        state.registry,
        taking=[takeover.identity for takeover in plan.takeovers],
        allowed=plan.allow_takeover,
    )


class _Rights(Struct, frozen=True, dict=True):
    """The checks of one plan; ``pending`` are the addresses of the changes that have not begun."""

    plan: Plan
    pending: frozenset[str]
    state: ClusterState
    ownership: Ownership
    command: bool

    def check(self, change: Change) -> None:
        """Raise an error unless the project has the right to this change."""
        if KIND_OF_SORT.get(kind_of(change.address)) is not change.kind:
            _raise_untrusted(change, f"is not of the kind {change.kind}")
        if change.actions not in _ACTIONS:
            _raise_untrusted(change, "has actions that contradict each other")
        if change.requests and change.requests[0].expects not in change.preconditions:
            _raise_untrusted(change, "has a request whose precondition is not the change's")
        actual = find_object(change.address, self.state)
        _raise_if_problem(change, undoing_problem(change))
        if change.kind is Kind.BROKER:
            _raise_if_problem(change, broker_problem(change, actual, self.plan))
            return
        self._check_owner(change, actual)
        self._check_topics(change, actual)
        if self.command:
            if change.owner_before or change.owner_after:
                _raise_untrusted(change, "would be managed because of a command")
            return
        if releases_ownership(change):
            self._check_removal(change, actual)
        else:
            self._check_staying(change, actual)
        self._check_derived(change)

    def _check_owner(self, change: Change, actual: Object | None) -> None:
        """Check that the object is this project's, or unmanaged and may become managed or go."""
        twin = topic_behind(change.address) or link_of(change.address)
        for address in filter(None, (change.address, twin)):
            status = self.ownership.status(address)
            taken = address == change.address and self._may_take(change)
            if status is OwnershipStatus.FOREIGN or (
                status is OwnershipStatus.TRANSFERABLE and not taken
            ):
                self._raise_foreign(change, address)
        if self.command or self.ownership.status(change.address) is OwnershipStatus.MINE:
            return
        if not (
            releases_ownership(change) and self._follows_managed_object(change)
        ) and not self._may_begin(change, actual):
            raise SafetyError(
                f"{change.address} is not managed by any project, so it is left alone; make "
                "a new plan"
            )

    def _may_begin(self, change: Change, actual: Object | None) -> bool:
        """Return whether the change may make the project manage the object."""
        if actual is None:
            return Action.CREATE in change.actions or self._moves(change)
        return Action.ADOPT in change.actions or self._follows_managed_object(change)

    def _may_take(self, change: Change) -> bool:
        taking = Action.CREATE in change.actions or Action.ADOPT in change.actions
        return not self.command and (taking or self._moves(change))

    def _moves(self, change: Change) -> bool:
        """Return whether a member moves from another virtual cluster; check that it may."""
        for request in (planned.request for planned in change.requests):
            if (
                not isinstance(request, req.AlterVirtualClusterRequest)
                or request.moved_from is None
            ):
                continue
            entity_type, name = request.entity_type, request.entity_name
            if entity_type in (None, EntityType.TOPIC) or name is None:
                _raise_untrusted(change, "would move, but is not a member")
            old = member_address(request.moved_from, entity_type, name)
            if old not in [item.object for item in change.preconditions]:
                _raise_untrusted(change, f"moves from {old}, which is not in its preconditions")
            if self.ownership.status(old) is OwnershipStatus.FOREIGN:
                self._raise_foreign(change, old)
            owner = self.ownership.owner(old)
            mine = self.ownership.status(old) is OwnershipStatus.MINE
            if owner and mine and not may_be_given_up(owner, None):
                _raise_protected(old)
            return True
        return False

    def _follows_managed_object(self, change: Change) -> bool:
        """Return whether the unmanaged object changes along with one that this project manages.

        The link of a removed topic is removed or leads elsewhere; an old ACL is removed for a
        member that has the same right in its virtual cluster (``migrated_to``).
        """
        behind = topic_behind(change.address)
        if behind is not None:
            begun = behind not in self.pending
            mine = self.ownership.status(behind) is OwnershipStatus.MINE
            return behind in self._removed and (begun or mine)
        members = migrated_members(change)
        return bool(members) and change.kind is Kind.ACL and all(map(self._is_ours, members))

    @cached_property
    def _removed(self) -> frozenset[str]:
        return frozenset(
            change.address for change in self.plan.changes if releases_ownership(change)
        )

    @cached_property
    def _changes(self) -> Mapping[str, Change]:
        return {change.address: change for change in self.plan.changes}

    def _is_ours(self, address: str) -> bool:
        """Return whether this project manages the object, or will once the plan is applied."""
        change = self._changes.get(address)
        made = change is not None and change.owner_after is not None
        return made or self.ownership.status(address) is OwnershipStatus.MINE

    def _check_topics(self, change: Change, actual: Object | None) -> None:
        """Check that the names and ids in requests are those of the topic at this address."""
        for request in (planned.request for planned in change.requests):
            if isinstance(request, req.CreateTopicRequest) and is_internal(request.topic):
                _raise_untrusted(change, "is an internal topic")
            if not isinstance(request, req.ExistingTopicRequest):
                continue
            named = {(request.topic, request.topic_id)}
            if isinstance(request, req.AlterTopicRequest):
                named.add((request.requested_state.name, request.requested_state.topic_id or ""))
            if not isinstance(actual, TopicState) or named != {(actual.name, actual.topic_id)}:
                _raise_untrusted(change, f"is not the topic {request.topic} ({request.topic_id})")
        if isinstance(actual, TopicState):
            self._check_physical(change, actual)

    def _check_physical(self, change: Change, actual: TopicState) -> None:
        """Check that the topic is neither internal nor another project's by another address."""
        if actual.internal and (change.requests or not releases_ownership(change)):
            _raise_untrusted(change, "is an internal topic")
        names = {topic_address(actual.name), *self._managed_as.get(actual.topic_id or "", ())}
        for address in sorted(names - {change.address}):
            if self.ownership.status(address) in (
                OwnershipStatus.FOREIGN,
                OwnershipStatus.TRANSFERABLE,
            ):
                self._raise_foreign(change, address)
        local = local_name(change.address)
        parts = generated_parts(actual.name)
        made_there = parts is not None and local is not None and parts[1] == local.name
        mine = self.ownership.status(change.address) is OwnershipStatus.MINE
        if local and not mine and not made_there:
            _raise_untrusted(
                change, f"is a link to the topic {actual.name}, which was not created there"
            )

    @cached_property
    def _managed_as(self) -> Mapping[str, Sequence[str]]:
        """The addresses under which topics are managed, by topic id."""
        managed: dict[str, list[str]] = {}
        for address, owner in self.ownership.owners.items():
            if owner.topic_id is not None and not owner.spent:
                managed.setdefault(owner.topic_id, []).append(address)
        return managed

    def _check_derived(self, change: Change) -> None:
        """Check that a derived change really is one, because limits do not count it."""
        behind = topic_behind(change.address)
        live = self.ownership.owner(change.address)
        known = {*migrated_members(change), *([behind] if behind else [])}
        if live is not None and self.ownership.is_own(live) and ORIGIN in live.last_applied:
            known.add(live.last_applied[ORIGIN]["member"])
        if change.owner_after is not None and not change.owner_after.spent:
            origin = change.owner_after.last_applied.get(ORIGIN)
            if origin is not None:
                _raise_if_problem(
                    change, origin_problem(change, origin, self._changes, self.ownership)
                )
                known.add(origin["member"])
            if bool(origin) != bool(change.derived_from) and not migrated_members(change):
                _raise_untrusted(change, "is derived without an origin, or the reverse")
        if not known.issuperset(change.derived_from):
            _raise_untrusted(change, "is not derived from the objects that it names")

    def _check_removal(self, change: Change, actual: Object | None) -> None:
        live = self.ownership.owner(change.address)
        planned = (change.owner_before, change.owner_after)
        if self.ownership.status(change.address) is not OwnershipStatus.MINE or live is None:
            # It goes along with an object that this project manages, and leaves no record.
            if planned not in ((None, None), (live, live)) or not is_only_removal(change, None):
                _raise_untrusted(change, "asks for more than its removal")
            return
        if change.requests and isinstance(actual, TopicState) and actual.topic_id != live.topic_id:
            raise SafetyError(
                f"{change.address} is another topic than the one that was applied, so it is left "
                "alone; make a new plan"
            )
        tombstone = new_tombstone(change, self.ownership)
        internal = isinstance(actual, TopicState) and actual.internal
        if not internal and not may_be_given_up(live, tombstone):
            _raise_protected(change.address)
        if Action.DELETE in change.actions and not change.requests:
            _raise_untrusted(change, "is to be deleted, but has no request")
        if not is_only_removal(change, live):
            _raise_untrusted(change, "asks for more than its removal")
        requests = [planned.request for planned in change.requests]
        if not all(may_remove(it, change, live, tombstone) for it in requests):
            raise SafetyError(
                f"{change.address} may not be deleted: it was last applied without "
                "deletionPolicy: Delete, and no Tombstone names it; make a new plan"
            )
        kept = live if migrated_members(change) else None
        after = kept or expected_record(change, None, self.ownership, self.plan, topic_id=None)
        if planned != (live, after):
            _raise_wrong_record(change)

    def _check_staying(self, change: Change, actual: Object | None) -> None:
        live = self.ownership.owner(change.address)
        if (actual is None) != (Action.CREATE in change.actions) and not self._moves(change):
            _raise_untrusted(change, "exists or does not, contrary to its actions")
        try:
            declared = recorded_declaration(change)
        except ValueError as error:
            _raise_untrusted(change, str(error))
        if declared is None:
            _raise_untrusted(change, "stays, but no project would manage it")
        topic_id = actual.topic_id if isinstance(actual, TopicState) else None
        known = live is not None and live.topic_id == topic_id
        if known and Action.ADOPT in change.actions:
            mine = self.ownership.status(change.address) is OwnershipStatus.MINE
            _raise_if_problem(change, "is already managed" if mine else None)
        applied = self.ownership.last_applied(change.address)
        if applied.get("deleteRecordsBefore") and not known:
            asked = [type(planned.request) for planned in change.requests]
            if req.DeleteRecordsRequest in asked:
                _raise_untrusted(
                    change, "is not the topic that deleteRecordsBefore was written for"
                )
        last = applied if known else {}
        _raise_if_problem(
            change, request_problem(change, declared, actual, last, self._changes, self.state)
        )
        after = expected_record(
            change, declared, self.ownership, self.plan, topic_id=topic_id, made=actual is None
        )
        if (change.owner_before, change.owner_after) != (live, after):
            _raise_wrong_record(change)
        lowered = after is not None and protection_fields(live, after)
        if lowered and risks.PROTECTION_LOWERED not in change.risks:
            _raise_untrusted(change, "would lose its protection without naming that risk")

    def _raise_foreign(self, change: Change, address: str) -> NoReturn:
        raise SafetyError(
            f"{change.address} {self.ownership.foreign_words(address)}, so it is left alone; make "
            "a new plan"
        )


def _raise_if_problem(change: Change, problem: str | None) -> None:
    if problem is not None:
        _raise_untrusted(change, problem)


def _raise_untrusted(change: Change, problem: str) -> NoReturn:
    raise UntrustedPlanError(
        f"the plan contradicts itself or the cluster: {change.address} {problem}; make a new plan"
    )


def _raise_wrong_record(change: Change) -> NoReturn:
    raise UntrustedPlanError(
        f"the plan would record an owner of {change.address} that does not follow from the "
        "registry and from its requests; make a new plan"
    )


def _raise_protected(address: str) -> NoReturn:
    raise SafetyError(
        f"{address} is protected: its last applied deletionPolicy is Protect, and no Tombstone "
        "names it; make a new plan"
    )
