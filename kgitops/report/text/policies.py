"""One policy explained: what it says, where it holds, how to waive it and how to test it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from kgitops.model.wording import counted
from kgitops.policy.evaluate.bundle import CelExpression, CelPolicy, Level
from kgitops.report.content.safe_text import Line, Style, in_columns, render_lines
from kgitops.workflow.policy_descriptions import PolicyDescription
from kgitops.workflow.policy_tests.offered import SAMPLES, OfferedTest

_WAIVED_FOR = timedelta(days=30)
_HEAD = ("policy", "level", "default", "form", "judges", "waivers", "from")
_MOST_REQUESTS = 3
_TOPIC = "topic/orders"
_STYLES = {Level.HARD: Style.BOLD, Level.OFF: Style.DIM}


def render_policies(described: Sequence[PolicyDescription], *, colour: bool) -> str:
    """A line for each policy, its level on the cluster first, and how many there are."""
    if not described:
        nothing = "The project has no policies; docs/guides/policies.md shows how to write one."
        return render_lines([[nothing]], colour=colour, ascii_only=False)
    rows = [_row(item) for item in described]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines: list[Line] = [[(Style.DIM, in_columns(_HEAD, widths))]]
    for item, row in zip(described, rows, strict=True):
        lines.append([(_STYLES.get(item.policy.level, Style.PLAIN), in_columns(row, widths))])
    cluster = described[0].cluster
    lines += ["", [f"{counted(len(described), 'policy')} on {cluster}."]]
    return render_lines(lines, colour=colour, ascii_only=False)


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


def render_policy(item: PolicyDescription, test: OfferedTest | None, *, colour: bool) -> str:
    """All there is to say of a policy, for a person, with a test of it."""
    policy = item.policy
    about = f"{policy.level} on {item.cluster}  {item.form}  {policy.source or ''}"
    lines: list[Line] = [[(Style.BOLD, policy.name), f"  {about}".rstrip()]]
    description = item.docstring or policy.description
    if description:
        lines += ["", *([line] for line in description.splitlines())]
    if policy.remediation:
        lines += ["", [(Style.BOLD, "What to do: "), policy.remediation]]
    for title, body in (
        ("Levels", _levels(item)),
        ("Judges", _judges(item)),
        *_form(item),
        ("Waivers", _waivers(item)),
        ("Waive one denial: put this next to the policies", _how_to_waive(item)),
        (_how_to_test(test), test.lines if test else ()),
    ):
        below = list(body)
        if below:
            lines += ["", [(Style.BOLD, title)], *([f"  {line}"] for line in below)]
    return render_lines(lines, colour=colour, ascii_only=False)


def _how_to_test(test: OfferedTest | None) -> str:
    denied = "" if test is None or test.denied else "add what it denies, "
    return f"Test it: {denied}put this next to the policies, run kgitops policy test"


def _levels(item: PolicyDescription) -> Iterator[str]:
    rows = {"by default": item.default, **item.levels}
    width = max(map(len, rows))
    for name, level in rows.items():
        yield f"{name.ljust(width)}  {level or 'unknown'}"


def _judges(item: PolicyDescription) -> Iterator[str]:
    yield item.requests
    if isinstance(item.policy, CelPolicy) and item.policy.match.names:
        yield f"names: {', '.join(item.policy.match.names)}"


def _form(item: PolicyDescription) -> Iterator[tuple[str, Sequence[str]]]:
    policy = item.policy
    if isinstance(policy, CelPolicy):
        yield "Only where", [*_named(policy.match_conditions)]
        yield "Variables", [*_named(policy.variables)]
        rules: list[str] = []
        for validation in policy.validations:
            rules += _expression("", validation.expression, validation.source)
            if validation.message:
                rules.append(f"  else: {validation.message}")
            elif validation.message_expression:
                rules += _expression("  else: ", validation.message_expression, None)
        yield "Must be true", rules
        return
    yield "Class", [policy.class_]
    yield (
        "Configs",
        [
            f"{entry.key}: {_shown(entry.given, entry.default)}"
            + (f"  ({entry.meaning})" if entry.meaning else "")
            for entry in item.settings
        ],
    )


def _shown(value: str | None, default: str | None) -> str:
    if value is not None:
        return value
    return "not set" if default is None else f"{default} by default"


def _named(expressions: Sequence[CelExpression]) -> Iterator[str]:
    for entry in expressions:
        yield from _expression(f"{entry.name}: ", entry.expression, entry.source)


def _expression(label: str, expression: str, source: object) -> Iterator[str]:
    """The lines of an expression, with its place behind the first."""
    first, *rest = expression.strip().splitlines() or [""]
    place = f"  # {source}" if source else ""
    yield f"{label}{first}{place}"
    for line in rest:
        yield f"{' ' * len(label)}{line}"


def _waivers(item: PolicyDescription) -> Iterator[str]:
    for waiver in item.waivers:
        days_left = item.days_left(waiver)
        days = "ends today" if days_left == 0 else f"{counted(days_left, 'day')} left"
        yield f"{waiver.name}: {waiver.address}, {days}; {waiver.owner}, {waiver.ticket}"


def _how_to_waive(item: PolicyDescription) -> Iterator[str]:
    if item.policy.level is not Level.SOFT:
        return
    yield "apiVersion: kgitops/v1"
    yield "kind: Waiver"
    yield f"metadata: {{name: {item.policy.name}-once}}"
    yield "spec:"
    yield f"  policy: {item.policy.name}"
    yield f'  address: "{_address(item)}"'
    yield "  owner: who answers for it"
    yield "  reason: why it may be so"
    yield "  ticket: where it is tracked"
    yield f'  expires: "{item.today + _WAIVED_FOR}"'


def _address(item: PolicyDescription) -> str:
    address = next((SAMPLES[api][0].address for api in item.judges or () if api in SAMPLES), _TOPIC)
    return "topic/NAME" if address == _TOPIC else address
