"""The HTML reports of plans that wait, found by their digests alone."""

from collections import OrderedDict
from http import HTTPStatus
from pathlib import Path

from msgspec import Struct

from kgitops.model.errors import UntrustedPlanError
from kgitops.plan.reading import read_plan
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.report.html.render import render_html

LARGEST_FILE = 32 * 1024 * 1024
_KEPT = 4
_CHANGED = "the file of this plan was changed or is no plan; see who may write to the folder"


class PlanPage(Struct, frozen=True, kw_only=True):
    """The report of a plan as HTML, or a sentence that says why there is none."""

    html: bytes = b""
    problem: str = ""
    status: HTTPStatus = HTTPStatus.OK


class PendingPlans:
    """Renders plans that wait; no part of a request is ever a path.

    To be used by one thread at a time.
    """

    def __init__(self) -> None:
        self._rendered: OrderedDict[str, bytes] = OrderedDict()

    def page(self, digest: str, status: LoopStatus) -> PlanPage:
        """The report of the plan that waits with this digest."""
        waiting = [
            unit.pending for unit in status.units if unit.pending and unit.pending.digest == digest
        ]
        if not waiting:
            sentence = "no plan waits with this digest; it may have been applied, or made anew"
            return PlanPage(problem=sentence, status=HTTPStatus.NOT_FOUND)
        path = waiting[0].path
        if path is None:
            sentence = "this plan is in no file; start kgitops reconcile with --plans DIR"
            return PlanPage(problem=sentence, status=HTTPStatus.NOT_FOUND)
        if digest not in self._rendered:
            try:
                self._rendered[digest] = _render(Path(path), digest)
            except (OSError, UnicodeDecodeError):
                sentence = "the file of this plan can't be read, or is too large to be shown here"
                return PlanPage(problem=sentence, status=HTTPStatus.NOT_FOUND)
            except UntrustedPlanError:
                return PlanPage(problem=_CHANGED, status=HTTPStatus.CONFLICT)
            while len(self._rendered) > _KEPT:
                self._rendered.popitem(last=False)
        self._rendered.move_to_end(digest)
        return PlanPage(html=self._rendered[digest])


def _render(path: Path, digest: str) -> bytes:
    """The report of the plan in a file, which must be the plan with this digest.

    Raises:
        UntrustedPlanError: it is another one, or none.
        OSError: it can't be read, or is too large.
    """
    if not path.is_file() or path.stat().st_size > LARGEST_FILE:
        raise OSError
    sealed = read_plan(path.read_text(encoding="utf-8"), path.name)
    if sealed.plan_digest != digest:
        raise UntrustedPlanError("another plan; make a new one")
    return render_html(sealed.plan, sealed=sealed).encode()
