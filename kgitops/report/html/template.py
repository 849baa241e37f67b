"""What pages are made with: jinja2, our own style and script, and a policy that allows these."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kgitops.model.wording import counted, shortened
from kgitops.report.content.safe_text import terminal_text

_LONGEST = 4_000


@cache
def environment(folder: Path) -> Environment:
    """Jinja's for the templates of a folder, made once: it keeps those that it has compiled."""
    made = Environment(
        loader=FileSystemLoader(folder),
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
    """Whatever the template writes, on one line and with nothing hidden; it is escaped after."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return terminal_text(shortened(value, _LONGEST))
    return value


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
