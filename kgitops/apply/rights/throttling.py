"""Throttles around moves, which nobody owns: set where there is none, and taken back."""

from kgitops.model.cluster_state import Broker
from kgitops.model.requests import AlterBrokerRequest, AlterStep, AlterTopicRequest
from kgitops.model.topic_configs import is_throttle
from kgitops.plan.document.plan import Action, Change, Plan, PlannedRequest


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
