"""Changes of objects that no project owns: ACLs copied or deleted for a member, and throttles."""

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from kgitops.kinds.acls.copied import AclTranslation
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.json.declared import binding_of
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import acl_address, split_scoped_address
from kgitops.model.resources.topic_configs import is_throttle
from kgitops.plan.document.plan import Action, Change, Plan, PlannedRequest
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.ownership import Ownership, OwnershipStatus


def migrated_members(change: Change) -> frozenset[str]:
    """Return the members for which the change deletes an old ACL (VC-191)."""
    requests = [planned.request for planned in change.requests]
    members = [it.migrated_to for it in requests if isinstance(it, req.DeleteAclRequest)]
    return frozenset(it for it in members if it is not None)


def origin_problem(
    change: Change, origin: Json, changes: Mapping[str, Change], ownership: Ownership
) -> str | None:
    """Return the problem of an ACL that is not a copy as ``origin`` says (VC-197), or None."""
    if not isinstance(origin, dict) or origin.keys() != {"copiedFrom", "member"}:
        return "has an origin that is not one of a copy"
    member = origin["member"]
    at = split_scoped_address(member) if isinstance(member, str) else None
    made = changes[member].owner_after if member in changes else None
    mine = ownership.status(member) is OwnershipStatus.MINE
    owner = made or (ownership.owner(member) if mine else None)
    if at is None or at.segment != "user" or owner is None or change.owner_after is None:
        return f"was copied for {member}, which is not this project's"
    if owner.last_applied.get("copyAclsFrom") != origin["copiedFrom"] or not origin["copiedFrom"]:
        return f"was copied for {member}, which declares no copy from there"
    binding = binding_of(change.owner_after.last_applied)
    if (binding.virtual_cluster, binding.principal) != (at.virtual_cluster, unquote(at.tail)):
        return f"was copied for {member}, whose ACL it is not"
    return None


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


def undoing_problem(change: Change) -> str | None:
    """Return the problem of an undo request, which runs whatever else fails, or None.

    Only throttles may be undone.
    """
    earlier: dict[str, PlannedRequest] = {}
    for planned in change.requests:
        if planned.undoes is not None:
            undone = earlier.get(planned.undoes)
            if undone is None or not (_throttles(planned) and _throttles(undone)):
                return f"undoes {planned.undoes}, which is not a throttle of its own"
        earlier[planned.id] = planned
    return None


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


def _throttles(planned: PlannedRequest) -> bool:
    match planned.request:
        case req.AlterBrokerRequest():
            return True
        case req.AlterTopicRequest(step=req.AlterStep.CONFIGS, requested_state=wanted):
            return all(map(is_throttle, wanted.requested_configs))
        case _:
            return False


def _moves(planned: PlannedRequest) -> bool:
    request = planned.request
    return isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS
