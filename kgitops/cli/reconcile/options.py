"""The options of ``kgitops reconcile``, each group one value, and times as they are typed."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from kgitops.model.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)?")


class SourceOptions(Struct, frozen=True, kw_only=True):
    """A git repository in the place of folders, and how much of it is trusted."""

    git: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Take the manifests from this repository, asked before each turn. A login is in "
            "KGITOPS_GIT_USERNAME and KGITOPS_GIT_PASSWORD, or KGITOPS_GIT_SSH_KEY.",
        ),
    ] = None
    ref: Annotated[
        str | None, typer.Option(metavar="REF", help="--git: the branch, tag or commit.")
    ] = None
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path", metavar="FOLDER", help="--git: a project's folder in it. May be repeated."
        ),
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="--git: keep the copy here, for the next start."),
    ] = None
    allowed_signers: Annotated[
        Path | None,
        typer.Option(
            "--allowed-signers",
            metavar="FILE",
            help="--git: take only what is signed by an SSH key of this file of git's.",
        ),
    ] = None
    gpg_keys: Annotated[
        Path | None,
        typer.Option(
            "--gpg-keys", metavar="FILE", help="--git: or by an OpenPGP key of this file."
        ),
    ] = None
    refuse_rewrites: Annotated[
        bool,
        typer.Option("--refuse-rewrites", help="--git: keep to a branch that only goes on."),
    ] = False
    git_max_size: Annotated[
        int,
        typer.Option("--git-max-size", metavar="MIB", min=1, help="--git: of a revision's files."),
    ] = 256
    git_max_files: Annotated[
        int, typer.Option("--git-max-files", metavar="N", min=1, help="--git: in a revision.")
    ] = 20_000


class PaceOptions(Struct, frozen=True, kw_only=True):
    """The time between turns, the time for one, and the number at once."""

    interval: Annotated[
        str, typer.Option(metavar="TIME", help="The time between two turns, such as 30s or 5m.")
    ] = "5m"
    jitter: Annotated[
        int, typer.Option(metavar="PERCENT", min=0, max=50, help="How much that varies.")
    ] = 10
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="How long a turn may take before it is stopped.")
    ] = "10m"
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many turns may be under way at once.")
    ] = 8
    parallelism: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many requests of a turn may be under way.")
    ] = 10


class LookOptions(Struct, frozen=True, kw_only=True):
    """A listener for those who want to know how the loop does."""

    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Answer HTTP here: a page, /status, /metrics, /healthz, /readyz; and POST "
            "/reconcile, a hint to take a turn, from who has the token in KGITOPS_RECONCILE_TOKEN.",
        ),
    ] = None
    allow_anonymous: Annotated[
        bool,
        typer.Option(
            "--allow-anonymous",
            help="--listen: let other machines look although nobody logs in.",
        ),
    ] = False


class SuspendOptions(Struct, frozen=True, kw_only=True):
    """The reason of a suspension, its end, and the projects it is for."""

    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="suspend: why; everybody sees it.")
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="suspend: when it ends by itself: 2h, or 2026-11-25T18:00:00Z."
        ),
    ] = None
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="suspend, resume: every project on the cluster.")
    ] = False
    lock_timeout: Annotated[
        str | None,
        typer.Option(
            "--lock-timeout",
            metavar="DURATION",
            help="suspend, resume: how long to wait while a run holds the cluster's lock. At least "
            "60s if left out.",
        ),
    ] = None


def parse_seconds(text: str, option: str, *, least: int = 1) -> float:
    """The seconds of a duration.

    Raises:
        UsageError: it is not one, or shorter than ``least``.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise UsageError(f"{option} {text!r} is not a time; write 30s, 5m, 2h or 1d")
    seconds = int(found[1]) * _UNITS[found[2] or "s"]
    if seconds < least:
        raise UsageError(f"{option} {text} is too short; give at least {least}s")
    return float(seconds)


def parse_moment(text: str, option: str, now: datetime) -> datetime:
    """The moment that a duration from now, or an RFC 3339 time, names.

    Raises:
        UsageError: it is neither, or is past.
    """
    if _DURATION.fullmatch(text):
        return now + timedelta(seconds=parse_seconds(text, option))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(
            f"{option} {text!r} is not a time; write 2h, or 2026-11-25T18:00:00Z with its zone"
        )
    if moment <= now:
        raise UsageError(f"{option} {text} is past; give a later time, or resume instead")
    return moment.astimezone(UTC)
