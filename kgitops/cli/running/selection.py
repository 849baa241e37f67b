"""From the words of a command line to a selection."""

import os
from collections.abc import Sequence
from pathlib import Path

from kgitops.desired.selector import parse_selector
from kgitops.model.errors import UsageError
from kgitops.model.lowered import Grade
from kgitops.model.resources.names import is_principal
from kgitops.plan.document.plan import Kind
from kgitops.workflow.project.selection import Selection


def make_selection(
    paths: Sequence[Path] | None,
    cluster: str | None,
    *,
    variables_of: str | None = None,
    targets: Sequence[str] | None = None,
    excludes: Sequence[str] | None = None,
    selector: Sequence[str] | None = None,
    principal: str | None = None,
    allow_deletes: Sequence[str] | None = None,
    offline: bool = False,
    fail_on: str | None = None,
) -> Selection:
    """What the user means.

    Raises:
        UsageError: a word that can't be meant.
    """
    if principal is not None and not is_principal(principal):
        raise UsageError(f"--as {principal!r} is no principal; write Type:name, as in User:alice")
    if both := sorted({*(targets or ())} & {*(excludes or ())}):
        raise UsageError(f"{both[0]} is given to --target and to --exclude; drop one of the two")
    if targets and selector:
        raise UsageError("--target names objects and --selector their labels; drop one of the two")
    return Selection(
        paths=tuple(paths or ()),
        cluster=cluster,
        variables_of=variables_of,
        targets=frozenset(targets or ()),
        excludes=frozenset(excludes or ()),
        selector=parse_selector(selector or ()),
        principal=principal,
        allow_deletes=dict(map(_allowance, allow_deletes or ())),
        offline=offline,
        fail_on=Grade(fail_on) if fail_on else None,
        environ=dict(os.environ),
    )


def _allowance(text: str) -> tuple[str, int]:
    kind, _, number = text.partition("=")
    kinds = {str(known).lower(): str(known) for known in Kind}
    if kind.lower() not in kinds or not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"--allow-deletes {text!r} can't be read; write KIND=N with one of "
            f"{', '.join(kinds.values())}, as in Topic=12"
        )
    return kinds[kind.lower()], int(number)
