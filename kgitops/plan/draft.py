"""The draft of a plan: what planning collects, and chains of requests about one object."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Change, Drift, Kept, PlannedRequest, Precondition
from kgitops.plan.normal_form import assignment_text


class PlanDraft(Struct):
    """Collects the results of planning one kind; planning continues after a problem."""

    changes: list[Change] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    refusals: list[Reason] = field(default_factory=list)

    def refuse(self, sentence: str) -> None:
        """Add a refusal by a safety rule (exit 5)."""
        self.refusals.append(Reason(exit=ExitCode.REFUSED, sentence=sentence))

    def keep(self, address: str, rule: str) -> None:
        """Record that the object is left alone because of ``rule``."""
        self.kept.append(Kept(address=address, rule=rule))


def merge_drafts(drafts: Iterable[PlanDraft]) -> PlanDraft:
    """Combine all drafts into one, in their order."""
    total = PlanDraft()
    for draft in drafts:
        total.changes += draft.changes
        total.drift += draft.drift
        total.kept += draft.kept
        total.findings += draft.findings
        total.warnings += draft.warnings
        total.refusals += draft.refusals
    return total


class ChainedRequest(Struct, frozen=True):
    """A request, and the index of the one that it undoes."""

    request: req.Request
    undoes: int | None = None

    def named(self, local: LocalName | None) -> "ChainedRequest":
        """Return the request about the topic of that name in a virtual cluster."""
        if local is None or not isinstance(self.request, req.TopicRequest):
            return self
        return replace(self, request=replace(self.request, local=local))


def chained(request: req.Request | ChainedRequest) -> ChainedRequest:
    """Return the request with what it undoes; by default nothing."""
    return request if isinstance(request, ChainedRequest) else ChainedRequest(request)


def chain(
    requests: Sequence[req.Request | ChainedRequest], expects: Precondition
) -> tuple[PlannedRequest, ...]:
    """Plan requests that each depend on the one before and expect the state that it leaves behind.

    A request that undoes another expects only that one's fields, and no later request does: if
    somebody has changed them in the meantime, they stay so.
    """
    items = [*map(chained, requests)]
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


def _after(request: req.Request, expects: Precondition) -> Precondition:
    if (
        isinstance(request, req.AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
    ):
        return replace(expects, exists=True, fields={"adopts": request.adopts})
    if isinstance(request, req.AlterUserScramCredentialsRequest):
        set_to = None if request.iterations is None else str(request.iterations)
        own = {f"scram.{request.mechanism}.iterations": set_to}
        return replace(expects, exists=True, fields={**expects.fields, **own})
    if isinstance(request, req.ConsumerGroupRequest):
        # Consumers may have started by then, and go on from the offsets that were set.
        kept = {p: t for p, t in expects.fields.items() if p.startswith("configs.")}
        return replace(expects, exists=True, fields=kept)
    if not isinstance(request, req.AlterTopicRequest):
        return expects
    state = request.requested_state
    fields = dict(expects.fields)
    match request.step:
        case req.AlterStep.CONFIGS:
            fields |= {f"configs.{key}": value for key, value in state.requested_configs.items()}
        case req.AlterStep.PARTITIONS | req.AlterStep.REPLICAS:
            now = {
                "partitions": str(state.num_partitions),
                "assignments": assignment_text(state.assignment),
            }
            fields |= {path: text for path, text in now.items() if path in fields}
    return replace(expects, fields=fields)
