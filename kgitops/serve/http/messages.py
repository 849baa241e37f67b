"""A request and its answer as values, and the limits of both."""

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl

from msgspec import Struct, field

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
_MOST_WORDS = 16


class HttpLimits(Struct, frozen=True, kw_only=True):
    """The limits of a listener; times are in seconds, sizes in bytes."""

    connections: int = 200
    """The most at a time; one more closes the oldest that owes its request, or else the oldest."""
    head: int = 16 * 1024
    """The request line and the headers."""
    head_seconds: float = 5
    """Until the headers are there."""
    body_seconds: float = 5
    """Until the body is there, where it is read."""
    seconds: float = 60
    """Until the answer is fetched."""


class HttpRequest(Struct, frozen=True, kw_only=True):
    """A request of a client; the path is as it was sent, without the query."""

    method: str
    path: str
    query_text: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def query(self) -> Mapping[str, str]:
        """The words of the query; of a word that comes twice the last, and none of too many."""
        try:
            return dict(parse_qsl(self.query_text, max_num_fields=_MOST_WORDS))
        except ValueError:
            return {}

    def header(self, name: str) -> str | None:
        """The value of a header, by its name in lower case; None unless it comes just once."""
        found = [value for key, value in self.headers if key == name]
        return found[0] if len(found) == 1 else None


class HttpResponse(Struct, frozen=True, kw_only=True):
    """An answer."""

    status: HTTPStatus = HTTPStatus.OK
    body: bytes = b""
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


def text_response(sentence: str, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
    """One sentence as an answer."""
    return HttpResponse(status=status, body=f"{sentence}\n".encode())


class HttpAnswering(Protocol):
    """Answers requests, in the listener's event loop."""

    async def __call__(self, request: HttpRequest, body: AsyncIterator[bytes], /) -> HttpResponse:
        """Return the answer; the body may be read, or left."""
        ...
