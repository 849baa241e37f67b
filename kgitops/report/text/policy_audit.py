"""An audit of policies as text for a person: object by object, what it breaks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.kinds import RESOURCES_IN_WORDS
from kgitops.model.wording import counted
from kgitops.policy.evaluate.bundle import Outcome, Ruling
from kgitops.report.content.safe_text import Line, Style, render_lines, terminal_text
from kgitops.workflow.policy_audit import AuditedObject, PolicyAudit

if TYPE_CHECKING:
    from kgitops.fleet.auditing import FleetAudit

NOT_DECLARED = "not declared here"


def render_policy_audit(audit: PolicyAudit, *, colour: bool = False) -> str:
    """A block for each object that breaks a policy, and a line with the counts."""
    lines: list[Line] = [
        [(Style.BOLD, "kgitops policy audit"), f"  cluster={terminal_text(audit.cluster)}"],
        [],
        *(line for item in audit.objects for line in _object(item)),
        *([[]] if audit.objects else []),
        [f"Audit: {summary(audit)}."],
    ]
    return render_lines(lines, colour=colour, ascii_only=False)


def render_fleet_audit(audit: "FleetAudit", *, colour: bool = False) -> str:
    """The audits of all units, one below the other, and a line with the counts."""
    lines: list[Line] = [[(Style.BOLD, "kgitops fleet audit")]]
    for unit in audit.units:
        name = terminal_text(f"{unit.project} on {unit.cluster}")
        if unit.audit is None:
            lines.append([(Style.RED_BOLD, "! "), f"{name}: {terminal_text(unit.reason or '')}"])
            continue
        lines.append([(Style.BOLD, name), f": {summary(unit.audit)}"])
        lines += (line for item in unit.audit.objects for line in _object(item))
    broken = sum(len(unit.audit.objects) for unit in audit.units if unit.audit is not None)
    failed = sum(unit.audit is None for unit in audit.units)
    units = counted(len(audit.units), "unit")
    verb = "breaks" if broken == 1 else "break"
    more = f"; {failed:,} could not be audited" if failed else ""
    lines += [[], [f"Audit of {units}: {counted(broken, 'object')} {verb} a policy{more}."]]
    return render_lines(lines, colour=colour, ascii_only=False)


def summary(audit: PolicyAudit) -> str:
    """``3 of 120 objects break 2 policies`` in one line."""
    broken = {ruling.policy for item in audit.objects for ruling in item.rulings}
    judged = counted(audit.judged, "object")
    if not audit.policies:
        return "the project has no policies"
    missing = [] if audit.users else ["users"]
    missing += [RESOURCES_IN_WORDS] if audit.unread else []
    unread = f"; {' and '.join(missing)} were not read" if missing else ""
    if not audit.objects:
        return f"none of {judged} breaks a policy{unread}"
    verb = "breaks" if len(audit.objects) == 1 else "break"
    return f"{len(audit.objects):,} of {judged} {verb} {counted(len(broken), 'policy')}{unread}"


def _object(item: AuditedObject) -> Iterator[Line]:
    sign = (Style.RED_BOLD, "!") if item.denied else (Style.YELLOW, "?")
    place = str(item.source) if item.source else NOT_DECLARED
    yield [
        "  ",
        sign,
        f" {terminal_text(str(object_name(item.address)))}",
        (Style.DIM, f"  {place}"),
    ]
    for ruling in item.rulings:
        yield [f"      {terminal_text(ruling.policy)} ({_state(ruling)}): "
               f"{terminal_text(ruling.message)}"]  # fmt: skip


def _state(ruling: Ruling) -> str:
    if ruling.crashed:
        return f"{ruling.level}, failed"
    if ruling.outcome is Outcome.WAIVED and ruling.waiver is not None:
        return f"{ruling.level}, waived until {ruling.waiver.expires}"
    return str(ruling.level)
