"""A plan's HTML file: one template, with its style and script inlined and hashed."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kgitops.model.wording import counted, shortened
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.html.page import page_of
from kgitops.report.virtual_clusters.svg import STYLE

_HERE = Path(__file__).parent
_LONGEST = 4_000


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


@cache
def environment(folder: Path) -> Environment:
    """Jinja's for a folder's templates and the macros here; made once, as it keeps what it read."""
    made = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["counted"] = counted
    return made


def inline(file: Path) -> Markup:
    """The text of a style or script."""
    return Markup(file.read_text(encoding="utf-8"))  # noqa: S704 (our own files)


def content_security_policy(style: str, script: str | None = None) -> str:
    """Nothing but this very style and script; no network, no frames, no HTML made by scripts."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            *([] if script is None else [f"script-src '{_hash(script)}'"]),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _shown(value: object) -> object:
    """A value of the template on one line, without hidden characters; jinja2 escapes it after."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return terminal_text(shortened(value, _LONGEST))
    return value


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
