"""The last guard before requests: what no plan may do, whatever the planner says.

It never asks the planner, so a mistake there does no harm here. The live registry decides. Nothing
is altered or deleted that is not this project's, or that the plan creates or adopts; nothing that
is protected is given up without a Tombstone that was not executed yet; and only what counts for the
limits, or follows from something that does, is deleted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NoReturn
from urllib.parse import unquote

from msgspec import Struct

from kgitops.apply.objects import Object, find_object, link_of, topic_behind
from kgitops.apply.rights.owner_records import new_tombstone
from kgitops.desired.last_applied import ORIGIN
from kgitops.kinds.virtual_clusters.local_acl import AclTranslation
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.json.declared import ConfigsPolicy, DeletionPolicy
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.addresses import (
    acl_address,
    kind_of,
    member_address,
    split_scoped_address,
    topic_address,
)
from kgitops.model.resources.kinds import KIND_OF_SORT, Kind
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topic_configs import is_throttle
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Plan, PlannedRequest
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.ownership import (
    EXECUTED_TOMBSTONES,
    Ownership,
    OwnershipStatus,
    protection_fields,
    removal_policy,
)
from kgitops.plan.removal import after_removal
from kgitops.plan.shown_values import releases_ownership, requests_of


def migrated_members(change: Change) -> frozenset[str]:
    """Return the members for which the change deletes an old ACL (VC-191)."""
    requests = [planned.request for planned in change.requests]
    members = [it.migrated_to for it in requests if isinstance(it, req.DeleteAclRequest)]
    return frozenset(it for it in members if it is not None)


def check_migrated_acls(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """Check that ACLs deleted for a member are its own, and exist in its virtual cluster too.

    A plan file names the member, and anyone who can write a plan file can name any member.

    Raises:
        SafetyError: the ACL is another principal's, or the member would lose the right (VC-191).
    """
    deletions = [it for it in _requests(changes) if isinstance(it, req.DeleteAclRequest)]
    migrated = [request for request in deletions if request.migrated_to is not None]
    if not migrated:
        return
    created = {it.binding for it in _requests(plan.changes) if isinstance(it, req.CreateAclRequest)}
    translation = AclTranslation(state, PlannedLinks(state, plan.changes))
    for request in migrated:
        member, binding = split_scoped_address(request.migrated_to or ""), request.binding
        own = member and member.segment == "user" and unquote(member.tail) == binding.principal
        replacements = (
            translation.translate(binding, member.virtual_cluster) if member and own else ()
        )
        if not replacements or not all(acl in state.acls or acl in created for acl in replacements):
            raise SafetyError(
                f"{acl_address(binding)} is to be deleted because {request.migrated_to} has the "
                "same right, but it does not; make a new plan"
            )


def _requests(changes: Iterable[Change]) -> Iterable[req.Request]:
    return (planned.request for change in changes for planned in change.requests)


_RATE = re.compile("[1-9][0-9]{0,18}")


def broker_problem(change: Change, found: object, plan: Plan) -> str | None:
    """Return the problem of a change of a broker's throttle, or None."""
    if change.actions != (Action.UPDATE,) or change.owner_before or change.owner_after:
        return "is a broker, which no project manages"
    requests = [
        it.request for it in change.requests if isinstance(it.request, req.AlterBrokerRequest)
    ]
    if len(requests) != len(change.requests) or not requests or not isinstance(found, Broker):
        return "is a broker, of which only the throttle may be set"
    limited, undoing = requests[0].configs, change.requests[1:]
    held = found.throttles or {}
    moves = any(_moves(planned) for planned in plan.requests)
    for key, value in limited.items():
        if value is None or not _RATE.fullmatch(value):
            return f"would have {key} set to something that is not a rate"
        if held.get(key, value if moves else None) != value:
            return f"has a {key} that another process set, or no replicas move"
    restored = [key for request in requests[1:] for key in request.configs]
    freed = all(value is None for request in requests[1:] for value in request.configs.values())
    if any(it.undoes is None for it in undoing) or sorted(restored) != sorted(limited) or not freed:
        return "would keep a throttle after the move"
    return None


def _moves(planned: PlannedRequest) -> bool:
    request = planned.request
    return isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS


_DELETES = (
    req.DeleteTopicRequest
    | req.DeleteAclRequest
    | req.DeleteVirtualClusterRequest
    | req.DeleteGroupRequest
    | req.DeleteConsumerGroupRequest
)


def guard(
    plan: Plan,
    changes: Sequence[Change],
    state: ClusterState,
    ownership: Ownership,
    *,
    command: bool,
) -> None:
    """Refuse what no plan of this project may do to the cluster.

    ``changes`` are those that have not begun. A ``command`` owns nothing, and names each object.

    Raises:
        SafetyError: the project has no right to a change.
        UntrustedPlanError: a change is about something else than it says.
    """
    checks = _Guard(plan, frozenset(it.address for it in changes), state, ownership, command)
    for change in changes:
        checks.check(change)
    check_migrated_acls(plan, changes, state)


class _Guard(Struct, frozen=True, dict=True):
    plan: Plan
    pending: frozenset[str]
    state: ClusterState
    ownership: Ownership
    command: bool

    def check(self, change: Change) -> None:
        if KIND_OF_SORT.get(kind_of(change.address)) is not change.kind:
            _distrust(change, f"is not of the kind {change.kind}")
        actual = find_object(change.address, self.state)
        if change.kind is Kind.BROKER:
            problem = broker_problem(change, actual, self.plan)
            if problem:
                _distrust(change, problem)
            return
        self._check_owner(change, actual)
        self._check_topic(change, actual)
        if self.command:
            if change.owner_before or change.owner_after:
                _distrust(change, "would be managed because of a command")
            return
        if change.owner_before != self.ownership.owner(change.address):
            _distrust(change, "has a record of its owner that is not the registry's")
        if releases_ownership(change):
            self._check_removal(change, actual)
        else:
            self._check_stay(change, actual)
        self._check_derived(change)

    def _check_owner(self, change: Change, actual: Object | None) -> None:
        """Check that the object is this project's, comes to it unowned, or goes along."""
        for address in self._same(change):
            status = self.ownership.status(address)
            takes = address == change.address and not self.command and self._comes(change, actual)
            if status is OwnershipStatus.FOREIGN or (status.of_another and not takes):
                self._refuse_foreign(change, address)
        mine = self.ownership.status(change.address) is OwnershipStatus.MINE
        if self.command or mine or self._comes(change, actual) or self._goes_along(change):
            return
        raise SafetyError(
            f"{change.address} is not managed by any project, so it is left alone; make a new plan"
        )

    def _same(self, change: Change) -> Iterator[str]:
        """Yield all addresses of the object, and of that which it is taken from."""
        yield change.address
        yield from filter(None, (topic_behind(change.address), link_of(change.address)))
        for request in requests_of(change):
            if isinstance(request, req.AlterVirtualClusterRequest) and request.moved_from:
                kind, name = request.entity_type, request.entity_name
                if kind is None or name is None:
                    _distrust(change, "would move, but is not a member")
                old = member_address(request.moved_from, kind, name)
                if self.ownership.status(old) is OwnershipStatus.FOREIGN:
                    self._refuse_foreign(change, old)
                live = self.ownership.owner(old)
                mine = self.ownership.status(old) is OwnershipStatus.MINE
                if mine and live and removal_policy(live) is DeletionPolicy.PROTECT:
                    _refuse_protected(old)

    def _comes(self, change: Change, actual: Object | None) -> bool:
        """Return whether the plan creates or adopts the object, and so manages it after that."""
        if releases_ownership(change):
            return False
        moves = any(
            isinstance(request, req.AlterVirtualClusterRequest) and request.moved_from is not None
            for request in requests_of(change)
        )
        if actual is None:
            return Action.CREATE in change.actions or moves
        return Action.ADOPT in change.actions or self._has_released_topic(change)

    def _goes_along(self, change: Change) -> bool:
        """Return whether the object goes along with one of this project.

        That is the link of a topic, and an old ACL of a member that has the same right in its
        virtual cluster.
        """
        if not releases_ownership(change):
            return False
        if topic_behind(change.address) is not None:
            return self._has_released_topic(change)
        members = migrated_members(change)
        checked = {
            expected.object
            for expected in change.preconditions
            if expected.exists and expected.owner == self.plan.desired.identity
        }
        asks = all(it in checked | self._kept and self._is_ours(it) for it in members)
        return bool(members) and change.kind is Kind.ACL and asks

    def _has_released_topic(self, change: Change) -> bool:
        """Return whether it is a link whose topic this project gives up."""
        topic = topic_behind(change.address)
        if topic is None or topic not in self._released:
            return False
        return topic not in self.pending or self.ownership.status(topic) is OwnershipStatus.MINE

    @cached_property
    def _released(self) -> frozenset[str]:
        return frozenset(it.address for it in self.plan.changes if releases_ownership(it))

    @cached_property
    def _kept(self) -> frozenset[str]:
        return frozenset(it.address for it in self.plan.changes if not releases_ownership(it))

    def _is_ours(self, address: str) -> bool:
        mine = self.ownership.status(address) is OwnershipStatus.MINE
        return address in self._kept or mine

    def _check_topic(self, change: Change, actual: Object | None) -> None:
        """Check that requests are for the topic of this address, which no other project has."""
        for request in requests_of(change):
            if isinstance(request, req.CreateTopicRequest) and is_internal(request.topic):
                _distrust(change, "is an internal topic")
            if isinstance(request, req.ExistingTopicRequest) and (
                not isinstance(actual, TopicState)
                or (request.topic, request.topic_id) != (actual.name, actual.topic_id)
            ):
                _distrust(change, f"is not the topic {request.topic} ({request.topic_id})")
        if not isinstance(actual, TopicState):
            return
        if actual.internal and (change.requests or not releases_ownership(change)):
            _distrust(change, "is an internal topic")
        names = {topic_address(actual.name), *self._managed_as.get(actual.topic_id or "", ())}
        for address in sorted(names - {change.address}):
            if self.ownership.status(address).of_another:
                self._refuse_foreign(change, address)

    @cached_property
    def _managed_as(self) -> Mapping[str, Sequence[str]]:
        """The addresses under which topics are managed, by topic id."""
        managed: dict[str, list[str]] = {}
        for address, owner in self.ownership.owners.items():
            if owner.topic_id is not None and not owner.spent:
                managed.setdefault(owner.topic_id, []).append(address)
        return managed

    def _check_removal(self, change: Change, actual: Object | None) -> None:
        """Check that the last applied policy or a Tombstone allows all that goes."""
        live = self.ownership.owner(change.address)
        mine = self.ownership.status(change.address) is OwnershipStatus.MINE
        for request in requests_of(change):
            if not _only_removes(request, live.last_applied if live and mine else {}):
                _distrust(change, "asks for more than its removal")
            if Action.DELETE not in change.actions and isinstance(request, _DELETES):
                _distrust(change, "would be deleted, and shows that it is forgotten")
        if live is None or not mine:
            if change.owner_after != change.owner_before:
                _distrust(change, "is no object of this project, and would get another record")
            return
        if change.requests and isinstance(actual, TopicState) and actual.topic_id != live.topic_id:
            raise SafetyError(
                f"{change.address} is another topic than the one that was applied, so it is left "
                "alone; make a new plan"
            )
        tombstone = new_tombstone(change, self.ownership)
        internal = isinstance(actual, TopicState) and actual.internal
        if not internal and not tombstone and removal_policy(live) is DeletionPolicy.PROTECT:
            _refuse_protected(change.address)
        if not all(_may_remove(it, change, live, tombstone) for it in requests_of(change)):
            raise SafetyError(
                f"{change.address} may not be deleted: it was last applied without "
                "deletionPolicy: Delete, and no Tombstone names it; make a new plan"
            )
        kept = live if migrated_members(change) else None
        if change.owner_after != (kept or after_removal(live, tombstone)):
            _distrust(change, "would leave a record that does not follow from its removal")

    def _check_stay(self, change: Change, actual: Object | None) -> None:
        """Check that an object that stays is this project's, and loses only what it applied."""
        after = change.owner_after
        if after is None or after.project != self.plan.desired.identity:
            _distrust(change, "would get another owner")
        topic_id = actual.topic_id if isinstance(actual, TopicState) else None
        marks = list(self.ownership.executed_tombstones(change.address))
        if (after.topic_id, after.last_applied.get(EXECUTED_TOMBSTONES, [])) != (topic_id, marks):
            _distrust(change, "would leave the record of another object")
        lowered = protection_fields(self.ownership.owner(change.address), after)
        if lowered and risks.PROTECTION_LOWERED not in change.risks:
            _distrust(change, "would lose its protection without naming that risk")
        last, declared = self.ownership.last_applied(change.address), after.last_applied
        live = self.ownership.owner(change.address)
        if isinstance(actual, TopicState) and live and live.topic_id != actual.topic_id:
            last = {}
        for request in requests_of(change):
            removes = isinstance(request, req.AlterVirtualClusterRequest) and (
                request.change is ChangeType.REMOVE
            )
            if removes or isinstance(request, _DELETES):
                _distrust(change, "stays, and would be deleted")
            if not _taken(request) <= _own_keys(request, last, declared):
                _distrust(change, "would lose what this project has not applied")
            if not _given(request) <= _declared_keys(declared):
                _distrust(change, "would get what its declaration does not have")
            if isinstance(request, req.DeleteRecordsRequest):
                allowed = declared.get("deleteRecordsBefore", {})
                asked = request.deleted_message_offsets
                if any(allowed.get(str(key)) != str(value) for key, value in asked.items()):
                    _distrust(change, "deletes records that deleteRecordsBefore does not name")

    def _check_derived(self, change: Change) -> None:
        """Check that a change that limits don't count goes along with one that they do."""
        live = self.ownership.owner(change.address)
        known = {*migrated_members(change), *filter(None, [topic_behind(change.address)])}
        if live is not None and self.ownership.is_own(live) and ORIGIN in live.last_applied:
            known.add(live.last_applied[ORIGIN]["member"])
        after = change.owner_after
        if after is not None and not after.spent and change.kind is Kind.ACL:
            origin = after.last_applied.get(ORIGIN)
            member = origin.get("member") if isinstance(origin, dict) else None
            if isinstance(member, str) and self._is_ours(member):
                known.add(member)
        if not known.issuperset(change.derived_from):
            _distrust(change, "is not derived from the objects that it names")

    def _refuse_foreign(self, change: Change, address: str) -> NoReturn:
        raise SafetyError(
            f"{change.address} {self.ownership.foreign_words(address)}, so it is left alone; make "
            "a new plan"
        )


def _only_removes(request: req.Request, last: Mapping[str, Json]) -> bool:
    """Return whether the request removes the object, or those of its values that were applied."""
    if isinstance(request, req.AlterVirtualClusterRequest):
        plain = (request.options, request.moved_from, request.replaces, request.adopts)
        return request.change is ChangeType.REMOVE and not any(plain)
    values = _values(request)
    if values:
        return not any(values.values()) and values.keys() <= _declared_keys(last)
    return isinstance(request, _DELETES)


def _may_remove(request: req.Request, change: Change, live: Owner, tombstone: str | None) -> bool:
    """Return whether the last applied declaration or a Tombstone allows the request."""
    policy = DeletionPolicy.DELETE if tombstone else removal_policy(live)
    written = bool(tombstone) or bool(live.last_applied["deletionPolicyWritten"])
    if isinstance(request, req.DeleteGroupRequest):
        return policy is DeletionPolicy.DELETE and written
    if isinstance(request, req.AlterVirtualClusterRequest) and policy is DeletionPolicy.ORPHAN:
        # Orphan keeps a topic's records and a group's offsets, and gives up the name.
        group = request.entity_type is EntityType.GROUP and not live.adopted
        return group or (change.kind is Kind.TOPIC and written)
    return policy is DeletionPolicy.DELETE


def _values(request: req.Request) -> Mapping[str, bool]:
    """Return the values that the request sets: True for one that it gives, False for one it takes.

    Throttles of a topic are not among them: they mark a move.
    """
    values: Mapping[str, object] = {}
    match request:
        case req.AlterUserScramCredentialsRequest(mechanism=mechanism, removes=removes):
            return {str(mechanism): not removes}
        case req.AlterClientQuotaRequest(quotas=quotas):
            values = quotas
        case req.AlterConfigResourceRequest(configs=configs):
            values = configs
        case req.AlterTopicRequest(step=req.AlterStep.CONFIGS, requested_state=wanted):
            values = {k: v for k, v in wanted.requested_configs.items() if not is_throttle(k)}
        case req.CreateTopicRequest(requested_state=created):
            values = created.configs
        case _:
            pass
    return {key: value is not None for key, value in values.items()}


def _taken(request: req.Request) -> frozenset[str]:
    return frozenset(key for key, given in _values(request).items() if not given)


def _given(request: req.Request) -> frozenset[str]:
    return frozenset(key for key, given in _values(request).items() if given)


def _declared_keys(declared: Mapping[str, Json]) -> frozenset[str]:
    return frozenset(
        key for part in ("scram", "quotas", "configs") for key in declared.get(part, {})
    )


def _own_keys(
    request: req.Request, last: Mapping[str, Json], declared: Mapping[str, Json]
) -> frozenset[str]:
    """Return the values that an object of this project may lose."""
    exact = declared.get("configsPolicy") == ConfigsPolicy.EXACT
    if exact and isinstance(request, req.AlterTopicRequest):
        return _taken(request)
    return _declared_keys(last)


def _distrust(change: Change, problem: str) -> NoReturn:
    raise UntrustedPlanError(
        f"the plan contradicts itself or the cluster: {change.address} {problem}; make a new plan"
    )


def _refuse_protected(address: str) -> NoReturn:
    raise SafetyError(
        f"{address} is protected: its last applied deletionPolicy is Protect, and no Tombstone "
        "names it; make a new plan"
    )
