"""The page as HTML: one template, its style inlined and allowed by its hash, and no script."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from kgitops.reconcile.http.page.content import status_page
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.report.html import render as plan_page
from kgitops.report.html.render import content_security_policy, environment, inline

_HERE = Path(__file__).parent
_PLAN_STYLE = Path(plan_page.__file__).parent / "plan.css"


class RenderedPage(Struct, frozen=True, kw_only=True):
    """The page and the policy that it may be shown under."""

    html: bytes
    csp: str


def render_status(
    status: LoopStatus, now: datetime, ticks: float, *, refresh: bool = True
) -> RenderedPage:
    """Render the state at a moment; ``ticks`` are the monotonic clock's."""
    style = inline(_PLAN_STYLE) + inline(_HERE / "status.css")
    csp = content_security_policy(style)
    page = status_page(status, now, ticks, refresh=refresh)
    template = environment(_HERE).get_template("status.html.jinja")
    return RenderedPage(html=template.render(page=page, style=style, csp=csp).encode(), csp=csp)
