"""Names this process as the lock's holder, and decides how long to wait for another holder."""

import os
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from kgitops.apply import lock
from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.cluster.port import Cluster
from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import SafetyError, UsageError
from kgitops.policy.units import duration_ms
from kgitops.workflow.project.selection import Workspace

_IN_CI_MS = 600_000
_LONGEST_MS = 86_400_000
_JOB_URLS = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL")
_URL = re.compile(r"https?://[!-~]{1,300}")


def lock_holder(environ: Mapping[str, str] | None = None) -> str:
    """The holder of the lock, for the message to others who are locked out."""
    environ = os.environ if environ is None else environ
    user = environ.get("USER") or environ.get("LOGNAME") or "someone"
    name = f"{user}@{socket.gethostname()}".encode(errors="backslashreplace").decode()
    job = job_url(environ)
    return f"{name} (process {os.getpid()}{f', {job}' if job else ''})"


def job_url(environ: Mapping[str, str]) -> str | None:
    """The URL of the CI job that this process runs in, without a login or a query; None if unknown.

    GitHub, Gitea, GitLab, Jenkins, CircleCI and Buildkite set it, or its parts.
    """
    github = [environ.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    url = next((environ[name] for name in _JOB_URLS if environ.get(name)), "")
    if all(github):
        url = "{}/{}/actions/runs/{}".format(*github)
    if not _URL.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def lock_timeout_ms(typed: str | None, workspace: Workspace) -> int:
    """The time to wait for another holder of the lock.

    What was typed wins over the project file. Without both it is 10 minutes in CI, else 0.

    Raises:
        UsageError: what was typed is not a duration of at most a day.
    """
    if typed is not None:
        return _parsed(typed)
    if workspace.file is not None and workspace.file.lock_timeout_ms is not None:
        return workspace.file.lock_timeout_ms
    ci = workspace.selection.environ.get("CI", "")
    return _IN_CI_MS if ci.lower() not in ("", "0", "false") else 0


def _parsed(typed: str) -> int:
    try:
        timeout = duration_ms(typed)
    except ValueError:
        timeout = -1
    if not 0 <= timeout <= _LONGEST_MS or (typed.strip().isdigit() and timeout):
        raise UsageError(
            f"--lock-timeout {typed!r} is not a time of at most 24h; write for example 30s or 10m"
        )
    return timeout


def wait_until_free(
    cluster: Cluster,
    timeout_ms: int,
    *,
    on_event: Callable[[Event], None],
    clock: Clock | None = None,
) -> int:
    """Wait until no run holds the lock, before the cluster is read; return what is left then.

    Without a timeout nothing is looked at: the lock itself refuses.

    Raises:
        LockedError: another run still holds it when the time is over.
    """
    if not timeout_ms:
        return 0
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(lock_timeout_ms=timeout_ms),
        clock=clock or SystemClock(),
        on_event=on_event,
        interrupted=lambda: None,
    )
    with suppress(SafetyError):  # a claim that can't be read: the command itself decides on it
        return lock.wait_until_free(context)
    return timeout_ms
