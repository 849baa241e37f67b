"""Names the origins of values that others changed: the profiles, folders and defaults of today."""

from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.desired.state import DesiredObject
from kgitops.manifests.value_origin import ValueOrigin, origins_of
from kgitops.model.errors import FindingsError
from kgitops.model.registry import Json
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.normal_form import last_applied
from kgitops.workflow.loading import declared_objects
from kgitops.workflow.project.selection import Workspace


def with_declared_origins(plan: Plan, workspace: Workspace) -> Plan:
    """The plan with the origins of last applied values, where they are declared as they were.

    Manifests that can't be read, or none, are no reason not to show the drift.
    """
    if not workspace.manifests:
        return plan
    try:
        declared = {item.address: item for item in declared_objects(workspace)}
    except FindingsError:
        unknown = Finding(
            source=None,
            problem="the manifests have findings, so no origin of a value is named",
            advice="see kgitops validate",
            severity=Severity.WARNING,
        )
        return replace(plan, warnings=(*plan.warnings, unknown))
    changes = (_named(change, declared.get(change.address)) for change in plan.changes)
    return replace(plan, changes=tuple(changes))


def _named(change: Change, declared: DesiredObject | None) -> Change:
    owner = change.owner_before
    origins = origins_of(declared.located) if declared is not None else {}
    if declared is None or owner is None or not origins:
        return change
    now = last_applied(declared)
    found: dict[str, ValueOrigin] = {
        field.path: origins[field.path]
        for field in change.fields
        if field.path in origins
        and _value(now, field.path) == _value(owner.last_applied, field.path)
    }
    return replace(change, origins=found) if found else change


def _value(form: Mapping[str, Json], path: str) -> Json:
    """The value of a normal form under a field's path: ``configs.retention.ms``."""
    group, _, key = path.partition(".")
    value = form.get(group)
    return value.get(key) if key and isinstance(value, Mapping) else value
