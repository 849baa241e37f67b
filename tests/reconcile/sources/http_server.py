"""Git's own server for HTTP, behind a login, on a free port of this machine."""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from reconcile.local_http import local_http


@contextmanager
def git_over_http(root: Path, user: str, password: str) -> Iterator[str]:
    """The address below which the repositories of ``root`` lie, for who logs in."""
    login = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, body: bytes) -> None:
            if self.headers["Authorization"] != login:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="repositories"')
                self.end_headers()
                return
            asked = urlsplit(self.path)
            done = subprocess.run(
                ["git", "http-backend"],
                input=body,
                capture_output=True,
                check=True,
                env={
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": asked.path,
                    "QUERY_STRING": asked.query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers["Content-Type"] or "",
                    "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
                    "GIT_PROTOCOL": self.headers["Git-Protocol"] or "",
                },
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            headers = dict(lines)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    with local_http(Handler) as server:
        yield f"http://127.0.0.1:{server.server_port}"
