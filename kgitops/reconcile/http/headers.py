"""Headers that keep a browser from misusing an answer, and the one that a request must have."""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.model.resources.names import is_loopback
from kgitops.serve.http.messages import HttpResponse

_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::\d{1,5})?")
PLAN_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For the report of a plan, which allows its own style and script by their hashes, in itself."""


def secured(response: HttpResponse) -> HttpResponse:
    """The answer with all headers; its own win."""
    return replace(response, headers={**_HEADERS, **response.headers})


def framed_by_nobody(policy: str) -> str:
    """The policy with what only a header can say."""
    return f"{policy}; frame-ancestors 'none'"


def names_this_machine(host: str | None) -> bool:
    """Tell if ``Host`` is loopback, not a name that somebody made lead there (DNS rebinding)."""
    if host is None:
        return False
    found = _HOST.fullmatch(host.lower())
    return found is not None and is_loopback(found["ipv6"] or found["name"])
