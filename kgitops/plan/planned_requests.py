"""Requests about one object as parts of a plan: each with what it depends on and expects."""

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
    """A request, and the place of the one that it takes back."""

    request: Request
    undoes: int | None = None


def chain(requests: Sequence[Request], expects: Precondition) -> tuple[PlannedRequest, ...]:
    """Requests about one object, each after the one before."""
    return chain_items([ChainedRequest(request) for request in requests], expects)


def chain_items(
    items: Sequence[ChainedRequest], expects: Precondition
) -> tuple[PlannedRequest, ...]:
    """Each request depends on the one before and expects what that one leaves behind.

    What takes another back looks at that one's fields alone, and nobody looks at them after it:
    whoever changed them meanwhile may keep them.
    """
    planned: list[PlannedRequest] = []
    for number, item in enumerate(items, start=1):
        mine = expects
        if item.undoes is not None:
            written = _after(items[item.undoes].request, replace(expects, fields={})).fields
            mine = replace(expects, fields=written)
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
                expects=mine,
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
