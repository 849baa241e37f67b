"""Who approved which commit of a pull request, and when."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from rest import GitHub, NotThereError
from runner import Stopped

_OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's last word on the pull request: this commit is good."""

    login: str
    at: datetime


def approvals(api: GitHub, number: int, head: str) -> list[Approval]:
    """The approvals of commit ``head`` that still hold, of people who may write here.

    A program's approval does not count: a workflow on any branch can give one.

    Raises:
        Stopped: GitHub refuses.
    """
    last: dict[str, dict[str, Any]] = {}
    for review in api.pages(f"/pulls/{number}/reviews"):
        user = review["user"]
        if user is None or user.get("type") != "User" or review["state"] not in _OPINIONS:
            continue
        before = last.get(user["login"])
        if before is None or moment(review["submitted_at"]) >= moment(before["submitted_at"]):
            last[user["login"]] = review
    return [
        Approval(login, moment(review["submitted_at"]))
        for login, review in last.items()
        if review["state"] == "APPROVED" and review["commit_id"] == head and _may_write(api, login)
    ]


def moment(text: object) -> datetime:
    """A time as GitHub writes it, such as ``2026-11-21T10:00:00Z``.

    Raises:
        Stopped: it is written otherwise.
    """
    try:
        return datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%S%z")
    except ValueError as error:
        raise Stopped(
            f"GitHub gives {text!r} for a time, which can't be read; report it to kgitops"
        ) from error


def _may_write(api: GitHub, login: str) -> bool:
    try:
        found = api.get(f"/collaborators/{quote(login, safe='')}/permission")
    except NotThereError:
        return False
    return found["permission"] in ("admin", "write")
