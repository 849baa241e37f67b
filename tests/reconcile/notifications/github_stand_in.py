"""A stand-in for GitHub's API of commit statuses, which checks what its documents ask for.

It is not GitHub: https://docs.github.com/en/rest/commits/statuses says what it should be like. It
takes ``POST /repos/OWNER/REPO/statuses/SHA`` alone, and answers as documented: 201 and the status,
401 to a wrong token, 403 without User-Agent, 404 elsewhere, 422 to a body of another shape.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from reconcile.local_http import local_http

TOKEN = "ghs_of-the-stand-in"  # noqa: S105 (a test's)
PATH = re.compile(r"/api/v3/repos/org/repo/statuses/([0-9a-f]{40}|[0-9a-f]{64})")
STATES = {"error", "failure", "pending", "success"}
FIELDS = {"state", "target_url", "description", "context"}
LONGEST_DESCRIPTION = 140


class GithubStandIn:
    """The statuses by commit and context, of which the last one counts, and all refusals."""

    def __init__(self) -> None:
        self.statuses: dict[tuple[str, str], dict[str, str]] = {}
        self.refused: list[str] = []
        self.url = ""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> int:
        """The code for a request, which is kept if it is as documented."""
        found = PATH.fullmatch(path)
        if found is None or method != "POST":
            return self._refuse(404, f"{method} {path}")
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return self._refuse(401, "the token")
        if not headers.get("user-agent"):
            return self._refuse(403, "no User-Agent")
        wanted = {
            "accept": "application/vnd.github+json",
            "content-type": "application/json",
            "x-github-api-version": "2022-11-28",
        }
        for name, value in wanted.items():
            if headers.get(name) != value:
                return self._refuse(400, f"{name}: {headers.get(name)}")
        status = json.loads(body)
        if (
            not {"state"} <= status.keys() <= FIELDS
            or not all(isinstance(value, str) for value in status.values())
            or status["state"] not in STATES
            or len(status.get("description", "")) > LONGEST_DESCRIPTION
        ):
            return self._refuse(422, body.decode())
        self.statuses[found[1], status.get("context", "default")] = status
        return 201

    def _refuse(self, code: int, why: str) -> int:
        self.refused.append(f"{code} {why}")
        return code


@contextmanager
def github() -> Iterator[GithubStandIn]:
    """The stand-in behind a socket."""
    stand_in = GithubStandIn()

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(stand_in.answer(self.command, self.path, headers, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

    with local_http(Handler) as server:
        stand_in.url = f"http://127.0.0.1:{server.server_port}/api/v3"
        yield stand_in
