"""A fake of GitHub's REST API, for tests only: what the actions ask of it, on a local port.

It answers as GitHub documents: pages with Link headers, artefacts by a redirect to another host,
403 where the job's token lacks a permission. Failures are put in ``failures``.
"""

import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

REPOSITORY = "acme/streams"
REPOSITORY_ID = 1001
TOKEN = "ghs_the-token-of-this-job"  # noqa: S105
BOT = "github-actions[bot]"
EVERYTHING = {
    "actions": "read",
    "contents": "read",
    "issues": "write",
    "pull-requests": "write",
}
Json = Any


class Asked(Struct, frozen=True):
    """One request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    content: Json
    authorization: str | None


@dataclass(slots=True)
class Failure:
    """Answers the next ``times`` requests that match; ``carried_out`` does first what was asked."""

    method: str
    path: str
    status: int
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "no"
    content: Json = None
    carried_out: bool = False


class FakeGitHub:
    """One repository and its issues, pull requests, runs and artefacts."""

    def __init__(self) -> None:
        self.comments: dict[int, list[Json]] = {}
        self.issues: dict[int, Json] = {}
        self.pulls: dict[str, list[Json]] = {}
        self.reviews: dict[int, list[Json]] = {}
        self.may: dict[str, str] = {"ada": "admin", "lin": "write", "guest": "read"}
        self.now = datetime(2026, 11, 21, 9, tzinfo=UTC)
        self.artifacts: list[Json] = []
        self.files: dict[int, bytes] = {}
        self.permissions: Mapping[str, str] = EVERYTHING
        self.page_size = 100
        self.failures: list[Failure] = []
        self.asked: list[Asked] = []
        self.blob_asked: list[Asked] = []
        self.url = ""
        self.blob_url = ""
        self._last_id = 0

    @property
    def changes(self) -> list[tuple[str, str]]:
        """What was asked but for reading."""
        return [(asked.method, asked.path) for asked in self.asked if asked.method != "GET"]

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def tick(self) -> str:
        """The time of what happens next, a second after what happened before."""
        self.now += timedelta(seconds=1)
        return f"{self.now:%Y-%m-%dT%H:%M:%SZ}"

    def add_review(
        self,
        number: int,
        commit: str,
        login: str = "ada",
        state: str = "APPROVED",
        kind: str = "User",
    ) -> Json:
        review = {
            "id": self.next_id(),
            "user": {"login": login, "type": kind},
            "state": state,
            "commit_id": commit,
            "submitted_at": self.tick(),
        }
        self.reviews.setdefault(number, []).append(review)
        return review

    def edit_comment(self, comment: Json, body: str) -> None:
        comment.update(body=body, updated_at=self.tick())

    def add_comment(self, number: int, body: str, author: str | None = BOT) -> Json:
        at = self.tick()
        comment = {
            "created_at": at,
            "updated_at": at,
            "id": self.next_id(),
            "body": body,
            "user": {"login": author} if author else None,
            "html_url": f"https://github.example/{REPOSITORY}/pull/{number}#{self._last_id}",
        }
        self.comments.setdefault(number, []).append(comment)
        return comment

    def add_issue(self, content: Json, author: str = BOT) -> Json:
        number = self.next_id()
        self.issues[number] = {
            "number": number,
            "state": "open",
            "user": {"login": author},
            **content,
            "labels": [{"name": name} for name in content.get("labels", ())],
        }
        return self.issues[number]

    def add_artifact(
        self,
        name: str,
        files: Mapping[str, bytes],
        *,
        run_id: int = 1,
        head_sha: str = "0" * 40,
        head_branch: str = "topic-branch",
        head_repository_id: int = REPOSITORY_ID,
        expired: bool = False,
    ) -> Json:
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        artifact = {
            "id": self.next_id(),
            "name": name,
            "expired": expired,
            "created_at": "2026-11-21T09:00:00Z",
            "workflow_run": {
                "id": run_id,
                "repository_id": REPOSITORY_ID,
                "head_repository_id": head_repository_id,
                "head_branch": head_branch,
                "head_sha": head_sha,
            },
        }
        self.artifacts.append(artifact)
        self.files[artifact["id"]] = zipped.getvalue()
        return artifact

    # What GitHub does when it is asked.

    def answer(self, asked: Asked) -> tuple[int, Json, dict[str, str]]:
        self.asked.append(asked)
        failure = next(
            (
                f
                for f in self.failures
                if f.times and f.method == asked.method and re.search(f.path, asked.path)
            ),
            None,
        )
        if failure:
            failure.times -= 1
            if failure.carried_out:
                self._do(asked)
            content = {"message": failure.message} if failure.content is None else failure.content
            return failure.status, content, failure.headers
        return self._do(asked)

    def _do(self, asked: Asked) -> tuple[int, Json, dict[str, str]]:
        if asked.authorization != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}, {}
        base = f"/repos/{REPOSITORY}"
        if not asked.path.startswith(base):
            return 404, {"message": "Not Found"}, {}
        for method, pattern, needs, do in self._routes():
            found = re.fullmatch(pattern, asked.path.removeprefix(base))
            if found and method == asked.method:
                if needs and not any(self._may(need) for need in needs):
                    return 403, {"message": "Resource not accessible by integration"}, {}
                return do(asked, *map(int_or_text, found.groups()))
        return 404, {"message": "Not Found"}, {}

    def _may(self, need: str) -> bool:
        scope, level = need.split(":")
        return self.permissions.get(scope) in ({"read", "write"} if level == "read" else {"write"})

    def _routes(self) -> list[tuple[str, str, tuple[str, ...], Callable[..., Any]]]:
        either = ("issues", "pull-requests")
        read, write = (tuple(f"{scope}:{level}" for scope in either) for level in ("read", "write"))
        return [
            ("GET", r"/issues/(\d+)/comments", read, self._list_comments),
            ("POST", r"/issues/(\d+)/comments", write, self._make_comment),
            ("PATCH", r"/issues/comments/(\d+)", write, self._change_comment),
            ("GET", r"/pulls/(\d+)/reviews", ("pull-requests:read",), self._list_reviews),
            ("GET", r"/collaborators/([\w%-]+)/permission", (), self._permission),
            ("GET", r"/issues", ("issues:read",), self._list_issues),
            ("POST", r"/issues", ("issues:write",), self._make_issue),
            ("PATCH", r"/issues/(\d+)", ("issues:write",), self._change_issue),
            ("GET", r"/commits/(\w+)/pulls", ("pull-requests:read",), self._list_pulls),
            ("GET", r"/actions/artifacts", ("actions:read",), self._list_artifacts),
            ("GET", r"/actions/runs/(\d+)/artifacts", ("actions:read",), self._list_artifacts),
            ("GET", r"/actions/artifacts/(\d+)/zip", ("actions:read",), self._download),
        ]

    def _page(self, asked: Asked, items: list[Json], key: str | None = None) -> Json:
        size = min(int(asked.query.get("per_page", 30)), self.page_size)
        page = int(asked.query.get("page", 1))
        shown = items[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(items):
            words = "&".join(f"{k}={v}" for k, v in {**asked.query, "page": page + 1}.items())
            headers["Link"] = (
                f'<{self.url}{asked.path}?page=1>; rel="first", '
                f'<{self.url}{asked.path}?{words}>; rel="next"'
            )
        return 200, ({key: shown, "total_count": len(items)} if key else shown), headers

    def _list_comments(self, asked: Asked, number: int) -> Json:
        return self._page(asked, self.comments.get(number, []))

    def _list_reviews(self, asked: Asked, number: int) -> Json:
        return self._page(asked, self.reviews.get(number, []))

    def _permission(self, asked: Asked, login: object) -> Json:
        known = self.may.get(str(login))
        return (200, {"permission": known}, {}) if known else (404, {"message": "Not Found"}, {})

    def _make_comment(self, asked: Asked, number: int) -> Json:
        if len(asked.content["body"]) > 65_536:
            return 422, {"message": "Body is too long (maximum is 65536 characters)"}, {}
        return 201, self.add_comment(number, asked.content["body"]), {}

    def _change_comment(self, asked: Asked, wanted: int) -> Json:
        for comment in (c for comments in self.comments.values() for c in comments):
            if comment["id"] == wanted:
                self.edit_comment(comment, asked.content["body"])
                return 200, comment, {}
        return 404, {"message": "Not Found"}, {}

    def _list_issues(self, asked: Asked) -> Json:
        wanted = asked.query.get("labels")
        state = asked.query.get("state", "open")
        found = [
            issue
            for issue in self.issues.values()
            if issue["state"] == state and wanted in {label["name"] for label in issue["labels"]}
        ]
        return self._page(asked, found)

    def _make_issue(self, asked: Asked) -> Json:
        return 201, self.add_issue(asked.content), {}

    def _change_issue(self, asked: Asked, number: int) -> Json:
        self.issues[number].update(asked.content)
        return 200, self.issues[number], {}

    def _list_pulls(self, asked: Asked, commit: object) -> Json:
        return self._page(asked, self.pulls.get(str(commit), []))

    def _list_artifacts(self, asked: Asked, run_id: int | None = None) -> Json:
        found = [
            artifact
            for artifact in reversed(self.artifacts)
            if artifact["name"] == asked.query.get("name", artifact["name"])
            and run_id in (None, artifact["workflow_run"]["id"])
        ]
        return self._page(asked, found, "artifacts")

    def _download(self, asked: Asked, wanted: int) -> Json:
        return 302, {}, {"Location": f"{self.blob_url}/{wanted}?signature=secret"}


def int_or_text(text: str) -> int | str:
    return int(text) if text.isdigit() and len(text) < 20 else text


@contextmanager
def running() -> Iterator[FakeGitHub]:
    """The fake, and its store of artefacts as another host."""
    fake = FakeGitHub()

    class Api(_Handler):
        def respond(self, asked: Asked) -> None:
            status, content, headers = fake.answer(asked)
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send(status, body, headers)

    class Blobs(_Handler):
        def respond(self, asked: Asked) -> None:
            fake.blob_asked.append(asked)
            if asked.authorization:
                # As the real store does: it takes one kind of credentials only.
                self.send(400, b"InvalidAuthenticationInfo", {})
                return
            content = fake.files.get(int(asked.path.strip("/")))
            self.send(200 if content else 404, content or b"", {})

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in (Api, Blobs)]
    fake.url, fake.blob_url = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield fake
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def respond(self, asked: Asked) -> None:
        raise NotImplementedError

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("content-length") or 0)
        self.respond(
            Asked(
                self.command,
                parts.path,
                {key: values[-1] for key, values in parse_qs(parts.query).items()},
                json.loads(self.rfile.read(length)) if length else None,
                self.headers.get("authorization"),
            )
        )

    do_GET = do_POST = do_PATCH = _handle  # noqa: N815

    def send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
