"""The catalogue as one HTML file: searchable, with nothing from elsewhere."""

from pathlib import Path

from markupsafe import Markup

from kgitops.report.catalogue.content import Catalogue
from kgitops.report.html.render import content_security_policy, environment, inline
from kgitops.report.virtual_clusters.svg import STYLE, svg_element

_HERE = Path(__file__).parent
_PLAN_STYLE = _HERE.parent / "html" / "plan.css"


def render_catalogue(catalogue: Catalogue) -> str:
    """The page; the same declarations give the same text."""
    style = inline(_PLAN_STYLE) + inline(_HERE / "catalogue.css")
    picture = ""
    if catalogue.graph is not None:
        style += inline(STYLE)
        picture = Markup(svg_element(catalogue.graph))  # noqa: S704 (escaped as it was made)
    script = inline(_HERE / "catalogue.js")
    return (
        environment(_HERE)
        .get_template("catalogue.html.jinja")
        .render(
            catalogue=catalogue,
            picture=picture,
            style=style,
            script=script,
            csp=content_security_policy(style, script),
        )
    )
