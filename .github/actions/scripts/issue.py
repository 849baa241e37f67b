"""Keeps one issue about drift: opened when there is some, kept up to date, closed when it is gone.

Only an open issue of our own with our label and our marker is ever changed. Where nobody knows
whether there is drift (kgitops stopped), nothing is.
"""

import os
from pathlib import Path
from typing import Any

from bounded import COMMENT_LIMIT, bounded
from names import marker
from rest import GitHub, UnclearError, github
from runner import main, run_url, say, text_input

_TRIES = 4


def issue() -> None:
    """Open, update or close."""
    known = os.environ["HAS_DRIFT"]
    if known not in ("true", "false"):
        say("The issue is left as it is: kgitops could not tell whether there is drift.")
        return
    api = github()
    for attempt in range(_TRIES):
        try:
            _once(api, is_drift=known == "true")
        except UnclearError as error:
            if attempt == _TRIES - 1:
                raise
            # Look again before anything is sent again.
            say(str(error))
            api.sleep(1)
        else:
            return


def _once(api: GitHub, *, is_drift: bool) -> None:
    first = marker("drift", text_input("PROJECT"), text_input("CLUSTER"))
    own = _open_issue(api, first)
    if not is_drift:
        if own is None:
            return
        say(f"Drift is gone; closing #{own['number']}.")
        body = f"{first}\nThe drift is gone, as [this run]({run_url()}) saw.\n"
        content: dict[str, object] = {"state": "closed", "state_reason": "completed", "body": body}
        api.send("PATCH", f"/issues/{own['number']}", content)
        return
    body = _body(first)
    if own is None:
        where = text_input("CLUSTER") or "the default cluster"
        title = f"kgitops: drift on {where} ({text_input('PROJECT') or '.'})"
        content = {"title": title, "body": body, "labels": [text_input("LABEL")]}
        made = api.send("POST", "/issues", content)
        say(f"Opened #{made['number']}.")
    else:
        api.send("PATCH", f"/issues/{own['number']}", {"body": body})
        say(f"Updated #{own['number']}.")


def _open_issue(api: GitHub, first: str) -> dict[str, Any] | None:
    author = text_input("ISSUE_AUTHOR")
    for found in api.pages("/issues", state="open", labels=text_input("LABEL")):
        own = found["user"] is not None and found["user"]["login"] == author
        if own and "pull_request" not in found and (found["body"] or "").startswith(first):
            return dict(found)
    return None


def _body(first: str) -> str:
    shown = Path(os.environ["MARKDOWN_FILE"]).read_text(encoding="utf-8")
    run = f"[this run]({run_url()})"
    top = (
        f"{first}\nWhat others changed since the last apply, and what it would take to undo it.\n\n"
    )
    bottom = (
        f"\n\nSeen by {run}. This issue is kept up to date, and closed when the drift is gone.\n"
    )
    pointer = f"**Cut off here.** All of it is in the summary of {run}."
    return top + bounded(shown, COMMENT_LIMIT - len((top + bottom).encode()), pointer) + bottom


if __name__ == "__main__":
    main(issue)
