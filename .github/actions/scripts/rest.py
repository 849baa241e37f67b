"""GitHub's REST API, as little of it as the actions need. Only the standard library."""

import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from runner import Stopped

_ATTEMPTS = 4
_LONGEST_WAIT = 60
_MOST_PAGES = 200
_TIMEOUT = 30
_PER_PAGE = 100


class NotThereError(Stopped):
    """GitHub answers 404."""


class UnclearError(Stopped):
    """GitHub failed: a change that was asked for may have been made, or not."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect goes to another host, which must not see the token."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow none."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Message
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub:
    """One repository. ``sleep`` takes seconds; ``clock`` gives them since 1970."""

    api: str
    repository: str
    token: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def get(self, path: str, **query: object) -> Any:
        """One object.

        Raises:
            Stopped: GitHub refuses, or can't be reached.
        """
        return _content(self._ask("GET", self._url(path, query)), f"GET {path}")

    def pages(self, path: str, key: str | None = None, **query: object) -> Iterator[Any]:
        """Every item of a list, page by page; ``key`` where the list is a member of an object.

        Raises:
            Stopped: GitHub refuses, or can't be reached, or the list has no end.
        """
        url = self._url(path, {**query, "per_page": _PER_PAGE})
        for _ in range(_MOST_PAGES):
            answer = self._ask("GET", url)
            yield from _content(answer, f"GET {path}", key)
            url = _next(answer.headers.get("link") or "")
            if not url:
                return
            if _origin(url) != _origin(self.api):
                raise Stopped(f"GitHub's next page of {path} is on another host; nothing was sent")
        raise Stopped(f"{path} has more than {_MOST_PAGES} pages; remove what is not needed")

    def send(self, method: str, path: str, content: dict[str, object]) -> Any:
        """Make or change one object. Where GitHub fails this is not tried again.

        Raises:
            UnclearError: it may have been done, or not; look before you ask again.
            Stopped: GitHub refuses.
        """
        answer = self._ask(method, self._url(path, {}), content)
        return _content(answer, f"{method} {path}")

    def download(self, path: str, most: int) -> bytes:
        """A file of at most ``most`` bytes, from wherever GitHub keeps it.

        Raises:
            Stopped: GitHub refuses, or the file is larger.
        """
        answer = self._ask("GET", self._url(path, {}), most=most)
        if answer.status in (301, 302, 303, 307, 308):
            place = answer.headers.get("location") or ""
            if urllib.parse.urlsplit(place).scheme not in ("http", "https"):
                raise Stopped(f"GitHub says no place for {path}; run the job again")
            answer = self._ask("GET", place, most=most, with_token=False)
        return answer.body

    def _url(self, path: str, query: dict[str, object]) -> str:
        words = f"?{urllib.parse.urlencode(query)}" if query else ""
        return f"{self.api}/repos/{self.repository}{path}{words}"

    def _ask(
        self,
        method: str,
        url: str,
        content: dict[str, object] | None = None,
        *,
        most: int = 64 * 2**20,
        with_token: bool = True,
    ) -> _Answer:
        what = f"{method} {urllib.parse.urlsplit(url).path}"
        for attempt in range(_ATTEMPTS):
            last = attempt == _ATTEMPTS - 1
            try:
                answer = self._once(method, url, content, most, with_token=with_token)
            except (OSError, HTTPException) as error:
                reason = f"GitHub can't be reached ({what}: {error}); run the job again"
                if method != "GET" or last:
                    raise UnclearError(reason) from error
                self.sleep(2**attempt)
                continue
            if answer.status >= 500:
                if method != "GET" or last:
                    raise UnclearError(f"GitHub fails ({what}: {answer.status}); run the job again")
                self.sleep(2**attempt)
                continue
            wait = self._limited(answer)
            if wait is None:
                _check(answer, what, most)
                return answer
            if wait > _LONGEST_WAIT or last:
                raise Stopped(f"GitHub's rate limit holds for {wait:.0f} s; run the job again then")
            self.sleep(wait)
        raise AssertionError("every attempt ends above")

    def _once(
        self,
        method: str,
        url: str,
        content: dict[str, object] | None,
        most: int,
        *,
        with_token: bool,
    ) -> _Answer:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "kgitops",
        }
        if with_token:
            headers["Authorization"] = f"Bearer {self.token}"
        body = None if content is None else json.dumps(content).encode()
        asked = urllib.request.Request(url, data=body, method=method, headers=headers)  # noqa: S310 (http for tests and GitHub Enterprise Server)
        opener = urllib.request.build_opener(_NoRedirects())
        try:
            with opener.open(asked, timeout=_TIMEOUT) as got:
                return _Answer(got.status, got.headers, got.read(most + 1))
        except urllib.error.HTTPError as error:
            with error:
                return _Answer(error.code, error.headers, error.read(most + 1))

    def _limited(self, answer: _Answer) -> float | None:
        """Seconds to wait where a limit was met; the request was then not carried out."""
        if answer.status not in (403, 429):
            return None
        after = answer.headers.get("retry-after") or ""
        if after.isdigit():
            return float(after)
        if answer.headers.get("x-ratelimit-remaining") == "0":
            reset = answer.headers.get("x-ratelimit-reset") or ""
            return max(0.0, float(reset) - self.clock()) if reset.isdigit() else _LONGEST_WAIT
        return float(_LONGEST_WAIT) if answer.status == 429 else None


def github() -> GitHub:
    """The repository that this runs for; the step gives the token, no other step has it.

    Raises:
        Stopped: there is no token.
    """
    token = os.environ.get("GITHUB_TOKEN", "")
    if not token:
        raise Stopped("there is no token; leave the input token at its default")
    return GitHub(
        api=os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        repository=os.environ["GITHUB_REPOSITORY"],
        token=token,
    )


def _check(answer: _Answer, what: str, most: int) -> None:
    if answer.status in (401, 403):
        raise Stopped(
            f"GitHub refuses {what} ({answer.status} {_message(answer)}); give the job the "
            "permissions that docs/guides/github-actions.md lists"
        )
    if answer.status == 404:
        raise NotThereError(
            f"GitHub knows nothing at {what} (404); it was deleted, or the job may not read it"
        )
    if answer.status >= 400:
        raise Stopped(f"GitHub refuses {what} ({answer.status} {_message(answer)})")
    if len(answer.body) > most:
        raise Stopped(f"{what} gives more than {most} bytes; nothing was done")


def _content(answer: _Answer, what: str, key: str | None = None) -> Any:
    """What the answer says, or its member ``key``."""
    try:
        content = json.loads(answer.body)
        return content[key] if key else content
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnclearError(
            f"GitHub, or a proxy, sent an answer that can't be read ({what}); run the job again"
        ) from error


def _message(answer: _Answer) -> str:
    try:
        return str(json.loads(answer.body)["message"])[:200]
    except (ValueError, KeyError, TypeError):
        return "without a reason"


def _next(link: str) -> str:
    """The address of the next page, from a Link header (RFC 8288); empty on the last one."""
    found = re.search(r'<([^<>]*)>;\s*rel="next"', link)
    return found[1] if found else ""


def _origin(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc
