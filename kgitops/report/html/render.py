"""From a plan to the file's text: one template, its style and its script inlined and hashed."""

from pathlib import Path

from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.html.page import page_of
from kgitops.report.html.template import content_security_policy, environment, inline
from kgitops.report.virtual_clusters.svg import STYLE

_HERE = Path(__file__).parent


def render_html(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """The plan for a browser: risk first, filterable, with pictures; the same plan, the same text.

    Args:
        plan: what to show.
        sealed: its envelope; gives the base's time and until when the plan holds.
    """
    page = page_of(plan, sealed)
    style, script = (inline(_HERE / name) for name in ("plan.css", "plan.js"))
    if page.map is not None:
        style += inline(STYLE)
    template = environment(_HERE).get_template("plan.html.jinja")
    return template.render(
        page=page,
        style=style,
        script=script,
        csp=content_security_policy(style, script),
    )
