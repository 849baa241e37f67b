"""Deriving what a plan shows: ``after``, fields, risks, reasons and impact of every change.

A planner says what a change rests on: before, requests, owner records, and its basis. The rest
follows from these here, when a plan is made and again when one is read, so that a file can't show
anything else than what it does.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from kgitops.manifests.kind_models import class_of
from kgitops.model.cluster_state import Usage
from kgitops.model.json.canonical import plain_json
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import kind_of, member_address
from kgitops.model.resources.kinds import KIND_OF_SORT
from kgitops.plan.access import with_rights_lost
from kgitops.plan.document import risks
from kgitops.plan.document.plan import (
    Action,
    Basis,
    Change,
    FieldChange,
    Plan,
    Precondition,
    Takeover,
)
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    owner_after,
    requests_of,
)
from kgitops.plan.usage import WITHOUT_RECORDS, deletes_empty, measured, not_checked, topic_at_stake

_UNCHECKED = ("lastApplied.", "deleteRecordsBefore.")
_UNCHECKED_FIELDS = ("owner", "link", "replicationFactor", "virtualCluster")
"""Fields that the registry, a request or another field of the precondition stands for."""
_MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def with_shown(
    changes: Sequence[Change], defaults: Mapping[str, str], takeovers: tuple[Takeover, ...] = ()
) -> list[Change]:
    """Return the changes with all that is shown of them; ``defaults`` are the brokers'."""
    changes = [_guarded(change) for change in changes]
    around = _surroundings(changes, defaults, takeovers)
    return [_with(change, _shown(change, around)) for change in changes]


def topics_at_stake(plan: Plan) -> frozenset[str]:
    """Return the topics whose records or clients a change may harm, or whose size it decides."""
    return frozenset(filter(None, map(topic_at_stake, plan.changes)))


def add_usage(plan: Plan, usage: Usage) -> Plan:
    """Add the blast radius of these topics to the plan, and warnings if it could not be read."""
    if not usage.topics and not usage.not_checked:
        return plan
    problems = frozenset(warning.problem for warning in plan.warnings)
    new = (item for item in not_checked(usage.not_checked) if item.problem not in problems)
    around = _surroundings(plan.changes, plan.base.defaults, plan.takeovers)
    return replace(
        plan,
        changes=tuple(_with_usage(change, usage, around) for change in plan.changes),
        warnings=(*plan.warnings, *new),
    )


def _with_usage(change: Change, usage: Usage, around: Surroundings) -> Change:
    found = measured(usage.topics.get(topic_at_stake(change) or ""))
    if found is None:
        return change
    change = replace(change, basis=replace(change.basis or Basis(), measured=found))
    change = _guarded(change)
    return _with(change, _shown(change, around))


def _guarded(change: Change) -> Change:
    """Let the deletion of an empty topic expect that the topic still has no records."""
    if not deletes_empty(change):
        return change

    def expecting(item: Precondition) -> Precondition:
        return replace(item, fields={**item.fields, **WITHOUT_RECORDS})

    return replace(
        change,
        preconditions=tuple(map(expecting, change.preconditions)),
        requests=tuple(
            replace(planned, expects=expecting(planned.expects)) for planned in change.requests
        ),
    )


def shown_problem(plan: Plan) -> str | None:
    """Return the first thing that the plan shows and that does not follow from it, or None."""
    around = _surroundings(plan.changes, plan.base.defaults, plan.takeovers)
    derived = []
    for change in plan.changes:
        if KIND_OF_SORT.get(kind_of(change.address)) is not change.kind:
            return f"{change.address} is not of the kind {change.kind}"
        try:
            derived.append(_with(change, _shown(change, around)))
        except _MALFORMED:
            return f"what {change.address} shows can't be derived from its requests"
    expected = with_rights_lost(derived, plan.access_losses)
    return next(filter(None, map(_difference, plan.changes, expected)), None)


def _surroundings(
    changes: Iterable[Change], defaults: Mapping[str, str], takeovers: tuple[Takeover, ...]
) -> Surroundings:
    by_address = {change.address: change for change in changes}
    moved = frozenset(
        member_address(request.moved_from, request.entity_type, request.entity_name)
        for change in by_address.values()
        for request in requests_of(change)
        if isinstance(request, AlterVirtualClusterRequest)
        and request.moved_from is not None
        and request.entity_type is not None
        and request.entity_name is not None
    )
    return Surroundings(defaults=defaults, changes=by_address, moved=moved, takeovers=takeovers)


def _shown(change: Change, around: Surroundings) -> Shown:
    if around.takeovers:
        return shown_takeover(change, around.takeovers)
    return class_of(change.address).shown(change, around)


def _with(change: Change, shown: Shown) -> Change:
    return replace(
        change,
        actions=shown.actions,
        after=shown.after,
        fields=shown.fields,
        risks=shown.risks,
        because=shown.because,
        impact=shown.impact,
        basis=None if change.basis == Basis() else change.basis,
    )


def _difference(given: Change, derived: Change) -> str | None:
    """Explain what a change shows that does not follow from it."""
    for name in ("actions", "fields", "risks"):
        if getattr(given, name) != getattr(derived, name):
            return f"the {name} of {given.address} are not those that follow from its requests"
    if given.because != derived.because:
        return f"the reason of {given.address} is not the one that follows from its records"
    for name in ("after", "impact"):
        if plain_json(getattr(given, name)) != plain_json(getattr(derived, name)):
            return f"{name} of {given.address} does not follow from its requests"
    expected = given.preconditions[0].fields if given.preconditions else {}
    for field in derived.fields:
        if field.path.startswith(_UNCHECKED) or field.path in _UNCHECKED_FIELDS:
            continue
        if field.path.endswith(".password") and field.path.startswith("scram."):
            continue
        if derived.before is None and field.path.startswith("configs."):
            continue
        if expected.get(field.path, "") != field.before:
            return f"{field.path} of {given.address} is not what its precondition expects"
    return None


def shown_takeover(change: Change, takeovers: Sequence[Takeover]) -> Shown:
    """Show that the object's record gets another owner, and nothing else.

    Raises:
        ContradictionError: the change does something else.
    """
    before, after = change.owner_before, owner_after(change)
    takeover = next((it for it in takeovers if before and before.project in it.identities), None)
    if before is None or takeover is None or change.requests or change.before is not None:
        raise ContradictionError("does something else than changing its owner")
    return Shown(
        actions=(Action.ADOPT,),
        after=None,
        fields=(
            FieldChange(
                path="owner",
                before=before.project,
                after=after.project,
                risk=risks.PROJECT_TAKEN_OVER,
                note="registry only",
            ),
        ),
        risks=(risks.PROJECT_TAKEN_OVER,),
        because=f"metadata.{takeover.kind} takes it over from {takeover.label}",
    )
