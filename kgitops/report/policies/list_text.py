"""The policies of a project in a table, and as JSON."""

from collections.abc import Sequence

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.model.wording import counted
from kgitops.policy.evaluate.bundle import CelPolicy, Level
from kgitops.report.content.ink import Line, Style, ink
from kgitops.workflow.policy_descriptions import PolicyDescription

_HEAD = ("policy", "level", "default", "form", "judges", "waivers", "from")
_MOST_REQUESTS = 3
_STYLES = {Level.HARD: Style.BOLD, Level.OFF: Style.DIM}


def render_policies(described: Sequence[PolicyDescription], *, colour: bool) -> str:
    """A line for each policy, its level on the cluster first, and how many there are."""
    if not described:
        nothing = "The project has no policies; docs/guides/policies.md shows how to write one."
        return ink([[nothing]], colour=colour, ascii_only=False)
    rows = [_row(item) for item in described]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines: list[Line] = [[(Style.DIM, _columns(_HEAD, widths))]]
    for item, row in zip(described, rows, strict=True):
        lines.append([(_STYLES.get(item.policy.level, Style.PLAIN), _columns(row, widths))])
    cluster = described[0].cluster
    lines += ["", [f"{counted(len(described), 'policy')} on {cluster}."]]
    return ink(lines, colour=colour, ascii_only=False)


def policies_to_json(described: Sequence[PolicyDescription]) -> str:
    """All policies as JSON text; keys may be added, none is ever renamed."""
    return json_text(
        {
            "format_version": "1.0",
            "kind": "kgitops.policies",
            "policies": [_to_json(item) for item in described],
        }
    )


def policy_to_json(item: PolicyDescription) -> str:
    """One policy as JSON text, with the same keys as among all."""
    return json_text({"format_version": "1.0", "kind": "kgitops.policy", **_to_json(item)})


def _row(item: PolicyDescription) -> tuple[str, ...]:
    policy = item.policy
    return (
        policy.name,
        str(policy.level),
        str(item.default),
        item.form,
        _judged(item),
        str(len(item.waivers) or "-"),
        str(policy.source or "-"),
    )


def _judged(item: PolicyDescription) -> str:
    """The first few: a policy that judges all would push its place off every screen."""
    more = len(item.judges or ()) - _MOST_REQUESTS
    if item.judges is None or more <= 1:
        return item.requests
    return f"{', '.join(item.judges[:_MOST_REQUESTS])} and {more} more"


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def _to_json(item: PolicyDescription) -> dict[str, Json]:
    policy = item.policy
    content: dict[str, Json] = {
        "name": policy.name,
        "form": item.form,
        "cluster": item.cluster,
        "level": str(policy.level),
        "default_level": str(item.default),
        "levels": {name: level and str(level) for name, level in item.levels.items()},
        "requests": None if item.judges is None else list(item.judges),
        "description": policy.description,
        "remediation": policy.remediation,
        "digest": policy.digest,
        "source": _place(policy.source),
        "waivers": [
            {
                "name": waiver.name,
                "address": waiver.address,
                "owner": waiver.owner,
                "reason": waiver.reason,
                "ticket": waiver.ticket,
                "expires": waiver.expires.isoformat(),
                "days_left": item.days_left(waiver),
            }
            for waiver in item.waivers
        ],
    }
    if isinstance(policy, CelPolicy):
        content["names"] = list(policy.match.names)
        content["variables"] = {entry.name: entry.expression for entry in policy.variables}
        content["validations"] = [
            {"expression": validation.expression, "source": _place(validation.source)}
            for validation in policy.validations
        ]
    else:
        content["class"] = policy.class_
        content["configs"] = dict(policy.configs)
    return content


def _place(source: Source | None) -> Json:
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}
