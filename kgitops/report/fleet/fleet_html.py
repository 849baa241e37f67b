"""A fleet's runs as one HTML file that opens from disk: no network, no JavaScript."""

from pathlib import Path

from kgitops.fleet.summary import History
from kgitops.report.fleet.fleet_page import page_of_fleet
from kgitops.report.html import render as plan_page
from kgitops.report.html.render import content_security_policy, environment, inline

_HERE = Path(__file__).parent
_SHARED = Path(plan_page.__file__).parent / "plan.css"


def render_fleet_html(history: History) -> str:
    """The fleet for a browser: the worst first, with pictures; the same history, the same text."""
    style = inline(_SHARED) + inline(_HERE / "fleet.css")
    template = environment(_HERE).get_template("fleet.html.jinja")
    return template.render(
        page=page_of_fleet(history), style=style, csp=content_security_policy(style)
    )
