"""Turns requests about one object into parts of a plan, with dependencies and expectations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgitops.model.requests import (
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document.plan import PlannedRequest, Precondition
from kgitops.plan.normal_form import assignment_text


@dataclass(frozen=True, slots=True)
class ChainedRequest:
    """A request, and the index of the one that it undoes."""

    request: Request
    undoes: int | None = None


def chain(requests: Sequence[Request], expects: Precondition) -> tuple[PlannedRequest, ...]:
    """Plan requests about one object, each after the one before."""
    return chain_items([ChainedRequest(request) for request in requests], expects)


def chain_items(
    items: Sequence[ChainedRequest], expects: Precondition
) -> tuple[PlannedRequest, ...]:
    """Plan requests that each depend on the one before and expect the state that it leaves behind.

    A request that undoes another expects only that one's fields, and no later request does: if
    somebody has changed them in the meantime, they stay so.
    """
    planned: list[PlannedRequest] = []
    for number, item in enumerate(items, start=1):
        own_expects = expects
        if item.undoes is not None:
            written = _after(items[item.undoes].request, replace(expects, fields={})).fields
            own_expects = replace(expects, fields=written)
            rest = {path: text for path, text in expects.fields.items() if path not in written}
            expects = replace(expects, fields=rest)
        elif number < len(items):
            expects = _after(item.request, expects)
        planned.append(
            PlannedRequest(
                id=f"{expects.object}#{number}",
                request=item.request,
                depends_on=(planned[-1].id,) if planned else (),
                undoes=None if item.undoes is None else planned[item.undoes].id,
                expects=own_expects,
            )
        )
    return tuple(planned)


def _after(request: Request, expects: Precondition) -> Precondition:
    if (
        isinstance(request, AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
    ):
        return replace(expects, exists=True, fields={"adopts": request.adopts})
    if not isinstance(request, AlterTopicRequest):
        return expects
    state = request.requested_state
    fields = dict(expects.fields)
    match request.step:
        case AlterStep.CONFIGS:
            fields |= {f"configs.{key}": value for key, value in state.requested_configs.items()}
        case AlterStep.PARTITIONS | AlterStep.REPLICAS:
            now = {
                "partitions": str(state.num_partitions),
                "assignments": assignment_text(state.assignment),
            }
            fields |= {path: text for path, text in now.items() if path in fields}
    return replace(expects, fields=fields)
