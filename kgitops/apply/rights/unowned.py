"""Changes of objects that no project owns: ACLs copied or deleted for a member, and throttles."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterStep,
    AlterTopicRequest,
    CreateAclRequest,
    DeleteAclRequest,
    Request,
)
from kgitops.model.resources.addresses import acl_address, split_scoped_address
from kgitops.model.topic_configs import is_throttle
from kgitops.plan.document.plan import Action, Change, Plan, PlannedRequest
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.normal_form import binding_of
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.virtual_clusters.copied_acls import AclTranslation


def copied_for(change: Change) -> frozenset[str]:
    """The members for which the change deletes an old right (VC-191)."""
    requests = [planned.request for planned in change.requests]
    asking = [it.migrated_to for it in requests if isinstance(it, DeleteAclRequest)]
    return frozenset(it for it in asking if it is not None)


def origin_problem(
    change: Change, origin: Json, changes: Mapping[str, Change], ownership: Ownership
) -> str | None:
    """Why the ACL is no copy for the member that ``origin`` names (VC-197); None: it is one."""
    if not isinstance(origin, dict) or origin.keys() != {"copiedFrom", "member"}:
        return "was copied from nowhere"
    member = origin["member"]
    at = split_scoped_address(member) if isinstance(member, str) else None
    made = changes[member].owner_after if member in changes else None
    mine = ownership.status(member) is OwnershipStatus.MINE
    owner = made or (ownership.owner(member) if mine else None)
    if at is None or at.segment != "user" or owner is None or change.owner_after is None:
        return f"was copied for {member}, which is not this project's"
    if owner.last_applied.get("copyAclsFrom") != origin["copiedFrom"] or not origin["copiedFrom"]:
        return f"was copied for {member}, which asks for no copy from there"
    binding = binding_of(change.owner_after.last_applied)
    if (binding.virtual_cluster, binding.principal) != (at.virtual_cluster, unquote(at.tail)):
        return f"was copied for {member}, whose right it is not"
    return None


def check_migrated_acls(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """What ``changes`` delete for a member is its own right, and stands in its virtual cluster.

    A plan file says for whom it deletes, and whoever can write one can say anything.

    Raises:
        SafetyError: it is somebody else's, or the member would lose it (VC-191).
    """
    deleted = [it for it in _requests(changes) if isinstance(it, DeleteAclRequest)]
    asked = [request for request in deleted if request.migrated_to is not None]
    if not asked:
        return
    made = {it.binding for it in _requests(plan.changes) if isinstance(it, CreateAclRequest)}
    translation = AclTranslation(state, PlannedLinks(state, plan.changes))
    for request in asked:
        member, binding = split_scoped_address(request.migrated_to or ""), request.binding
        own = member and member.segment == "user" and unquote(member.tail) == binding.principal
        stands = translation.translate(binding, member.virtual_cluster) if member and own else ()
        if not stands or not all(acl in state.acls or acl in made for acl in stands):
            raise SafetyError(
                f"{acl_address(binding)} is to be deleted because {request.migrated_to} has the "
                "same right, which is not so; make a new plan"
            )


def _requests(changes: Iterable[Change]) -> Iterable[Request]:
    return (planned.request for change in changes for planned in change.requests)


def undoing_problem(change: Change) -> str | None:
    """Why a request may not take another back: it runs whatever else fails, so it must be small."""
    earlier: dict[str, PlannedRequest] = {}
    for planned in change.requests:
        if planned.undoes is not None:
            undone = earlier.get(planned.undoes)
            if undone is None or not (_throttles(planned) and _throttles(undone)):
                return f"takes {planned.undoes} back, which is no throttle of its own"
        earlier[planned.id] = planned
    return None


def broker_problem(change: Change, found: object, plan: Plan) -> str | None:
    """Why a broker's throttle may not be changed so."""
    if change.actions != (Action.UPDATE,) or change.owner_before or change.owner_after:
        return "is a broker, which nobody manages"
    requests = [it.request for it in change.requests if isinstance(it.request, AlterBrokerRequest)]
    if len(requests) != len(change.requests) or not requests or not isinstance(found, Broker):
        return "is a broker, of which only a throttle is set"
    limited, undoing = requests[0].configs, change.requests[1:]
    held = found.throttles or {}
    moves = any(_moves(planned) for planned in plan.requests)
    for key, value in limited.items():
        if value is None or not value.isdecimal() or int(value) < 1:
            return f"would have {key} set to no rate"
        if held.get(key, value if moves else None) != value:
            return f"has {key} of somebody else, or no replicas move"
    restored = [key for request in requests[1:] for key in request.configs]
    freed = all(value is None for request in requests[1:] for value in request.configs.values())
    if any(it.undoes is None for it in undoing) or sorted(restored) != sorted(limited) or not freed:
        return "would keep a throttle after the move"
    return None


def _throttles(planned: PlannedRequest) -> bool:
    match planned.request:
        case AlterBrokerRequest():
            return True
        case AlterTopicRequest(step=AlterStep.CONFIGS, requested_state=wanted):
            return all(map(is_throttle, wanted.requested_configs))
        case _:
            return False


def _moves(planned: PlannedRequest) -> bool:
    request = planned.request
    return isinstance(request, AlterTopicRequest) and request.step is AlterStep.REPLICAS
