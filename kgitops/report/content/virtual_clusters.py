"""A plan's effects on virtual clusters: the targets of links, and a summary of each."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from msgspec import Struct

from kgitops.model import requests as req
from kgitops.model.lowered import Grade
from kgitops.model.resources.acls import CLUSTER_NAME, ResourceType
from kgitops.model.resources.addresses import object_name, split_scoped_address
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import (
    EXCLUSIVE,
    ChangeType,
    EntityType,
    generated_topic_name,
    physical_id,
)
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.report.content.lowering import WORST_FIRST

_NAMES_SHOWN = 5
_DEFAULT = "<default>"
ALL_OTHERS = "all others"
"""The virtual clusters without a cap of their own, in the place of a name."""


class VirtualClusterSummary(Struct, frozen=True, kw_only=True):
    """A plan's effects on one virtual cluster, in words (VC-412).

    ``name`` may also be a prefix, ``*`` or :data:`ALL_OTHERS`. ``cut_over`` says whose clients get
    to see other names, or on a Kafka without virtual clusters which clients need other names, and
    ``cut_over_title`` which of the two; ``lost`` what can't be had back.
    """

    name: str
    counts: str
    cut_over: str = ""
    cut_over_title: str = "namespace cut-over"
    lost: str = ""
    lowering: str = ""


def facts(change: Change) -> list[str]:
    """The facts in a change's requests: physical names, and the names that they replace."""
    return [fact for planned in change.requests for fact in _facts(planned.request, change)]


def derived(change: Change) -> str:
    """``derived from virtual cluster emea.sales``; empty for what is declared itself (VC-407)."""
    named = [str(object_name(address)) for address in change.derived_from]
    return f"derived from {_few(named)}" if named else ""


def virtual_cluster_summaries(plan: Plan) -> tuple[VirtualClusterSummary, ...]:
    """One for each virtual cluster that the plan touches, by name."""
    touched: dict[str, list[Change]] = defaultdict(list)
    for change in plan.changes:
        for name in _names(change):
            touched[name].append(change)
    grades: dict[str, Counter[Grade]] = defaultdict(Counter)
    for line in plan.lowering:
        if line.grade is not None:
            grades[line.virtual_cluster][line.grade] += 1
    configured = any(line.grade is Grade.CLIENT for line in plan.lowering)
    title = "clients to configure" if configured else "namespace cut-over"
    default = touched.pop(_DEFAULT, [])
    summaries = [
        VirtualClusterSummary(
            name=name,
            counts=_counts(changes),
            cut_over=_few([str(object_name(change.address)) for change in _cut_over(changes)]),
            cut_over_title=title,
            lost=_few([str(object_name(change.address)) for change in _lost(changes)]),
            lowering=", ".join(
                f"{grades[name][grade]:,} {grade}"
                for grade in WORST_FIRST
                if grade is not None and grades[name][grade]
            ),
        )
        for name, changes in sorted(touched.items())
    ]
    if default:
        counts = f"their cap: {_counts(default)}"
        summaries.append(VirtualClusterSummary(name=ALL_OTHERS, counts=counts))
    return tuple(summaries)


def count_named(found: Iterable[VirtualClusterSummary]) -> int:
    """The number of summaries that are about a single virtual cluster."""
    return sum(not each.name.endswith("*") and each.name != ALL_OTHERS for each in found)


def summary_line(found: VirtualClusterSummary) -> str:
    """All of it but the name, in one line."""
    parts = [found.counts]
    if found.lost:
        parts.append(f"DATA LOSS: {found.lost}")
    if found.cut_over:
        parts.append(f"{found.cut_over_title}: {found.cut_over}")
    if found.lowering:
        parts.append(f"lowering: {found.lowering}")
    return "; ".join(parts)


def unlinked(request: req.AlterVirtualClusterRequest, change: Change) -> str | None:
    """The topic that loses a link; None where the plan does not say."""
    before = (change.before or {}).get("topic")
    return request.topic or (before if isinstance(before, str) else None)


def known_after_apply(topic: str) -> str:
    """A physical name, with a note where it is not known yet."""
    return f"{topic} (known after apply)" if topic.startswith(req.NEW_UUID) else topic


def _facts(request: req.Request, change: Change) -> Iterator[str]:
    match request:
        case req.CreateTopicRequest(local=local) if local is not None:
            yield f"physical name {known_after_apply(request.topic)}"
        case req.DeleteTopicRequest(local=local) if local is not None:
            yield f"physical name {request.topic}"
        case req.AlterVirtualClusterRequest(entity_type=EntityType.TOPIC):
            yield from _link_facts(request, change)
        case req.AlterVirtualClusterRequest(change=ChangeType.ADD):
            yield from _member_facts(request)
        case req.CopyGroupOffsetsRequest():
            yield f"copies the offsets that {request.source} has committed"
        case req.DeleteGroupRequest():
            yield f"physical id {physical_id(request.virtual_cluster, request.group)}"
        case _:
            pass


def _link_facts(request: req.AlterVirtualClusterRequest, change: Change) -> Iterator[str]:
    topic = request.topic
    if request.change is ChangeType.REMOVE:
        yield f"unlinks {unlinked(request, change) or 'its topic'}"
    elif topic is None and request.target is not None:
        yield f"-> {known_after_apply(generated_topic_name(req.NEW_UUID, request.target.name))}"
    else:
        yield f"-> {known_after_apply(topic or '')}"
    if request.replaces is not None:
        yield f"led to {request.replaces} before"
    yield "no data movement"


def _member_facts(request: req.AlterVirtualClusterRequest) -> Iterator[str]:
    if request.moved_from is not None:
        yield f"moves from {request.moved_from}"
    if request.entity_name and request.entity_type in (
        EntityType.GROUP,
        EntityType.TRANSACTIONAL_ID,
    ):
        yield f"physical id {physical_id(request.virtual_cluster, request.entity_name)}"
    if request.adopts is not None:
        yield f"takes over the group {request.adopts}"


def _names(change: Change) -> Iterable[str]:
    """The virtual clusters that a change is about; two where something moves."""
    found = split_scoped_address(change.address)
    if found is not None:
        names = [f"{found.virtual_cluster}{'*' if found.prefixed else ''}"]
    elif change.address.startswith("vc/"):
        names = [unquote(change.address.removeprefix("vc/"))]
    else:
        names = [name for planned in change.requests for name in _scope(planned.request)]
    names += [
        planned.request.moved_from
        for planned in change.requests
        if isinstance(planned.request, req.AlterVirtualClusterRequest)
        and planned.request.moved_from
    ]
    return dict.fromkeys(names)


def _scope(request: req.Request) -> Iterator[str]:
    """Of what has a global address: a cap, or a right on a virtual cluster as a whole."""
    match request:
        case req.AlterClientQuotaRequest(entity=((kind, name), *_)) if kind == VIRTUAL_CLUSTER:
            yield name or _DEFAULT
        case req.AclRequest(binding=binding):
            if (
                binding.resource_type is ResourceType.CLUSTER
                and binding.resource_name != CLUSTER_NAME
            ):
                yield binding.resource_name
        case _:
            pass


def _counts(changes: Iterable[Change]) -> str:
    counts = Counter(action for change in changes for action in change.actions)
    return ", ".join(f"{counts[action]:,} to {action}" for action in Action if counts[action])


def _cut_over(changes: Iterable[Change]) -> Iterator[Change]:
    for change in changes:
        if any(
            isinstance(planned.request, req.AlterVirtualClusterRequest)
            and planned.request.entity_type in EXCLUSIVE
            for planned in change.requests
        ):
            yield change


def _lost(changes: Iterable[Change]) -> Iterator[Change]:
    for change in changes:
        if any(
            isinstance(planned.request, req.DeleteTopicRequest | req.DeleteGroupRequest)
            for planned in change.requests
        ):
            yield change


def _few(names: list[str]) -> str:
    shown = names[:_NAMES_SHOWN]
    hidden = len(names) - len(shown)
    return ", ".join(shown) + (f" and {counted(hidden, 'other')}" if hidden else "")
