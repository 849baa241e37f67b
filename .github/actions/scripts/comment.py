"""Shows a plan on its pull request, in a comment of its own that nobody has to trust later.

Every plan gets a new comment, and a comment that is the record of a plan is never changed: GitHub
keeps when it was written and that it was not edited, which the apply compares with the approvals.
Only what is superseded is folded to one line. A pull request from a fork gets none, because no
token that could write it belongs where foreign code runs; its plan is in the job's summary.
"""

import os
from pathlib import Path
from typing import Any

from bounded import COMMENT_LIMIT, bounded
from command import code_span
from names import marker, read_reviewed, reviewed_line
from rest import GitHub, NotThereError, UnclearError, github
from reviews import approvals
from runner import event, main, run_url, say, set_output, text_input

_TRIES = 4
_AGAIN = (
    "**Commit {head} was approved before this plan was made. It is applied only if it is approved "
    "again.**\n\n"
)


def comment() -> None:
    """Write the comment, where there is a pull request that can have one."""
    pull = event().get("pull_request")
    if not pull:
        say("No comment: this run is not about a pull request.")
        return
    home = pull["head"]["repo"]
    if home is None or home["full_name"] != os.environ["GITHUB_REPOSITORY"]:
        say("No comment: the pull request is from a fork. The plan is in the job's summary.")
        return
    first = marker("plan", text_input("PROJECT"), text_input("CLUSTER"))
    api, number, head = github(), int(pull["number"]), str(pull["head"]["sha"])
    body = _body(first, head, is_approved=bool(approvals(api, number, head)))
    set_output("comment-url", _keep(api, number, first, body))


def _body(first: str, head: str, *, is_approved: bool) -> str:
    shown = Path(os.environ["MARKDOWN_FILE"]).read_text(encoding="utf-8")
    name = code_span(os.environ["ARTIFACT_NAME"])
    run = f"[this run]({run_url()})"
    pointer = (
        f"**Cut off here.** The whole plan is in the summary and the artefact {name} of {run}."
    )
    top = f"{first}\n{reviewed_line(head, os.environ['PLAN_DIGEST'])}\n"
    top += _AGAIN.format(head=head) if is_approved else ""
    bottom = f"\n\nFor commit {head}, by {run}; artefact {name}.\n"
    room = COMMENT_LIMIT - len((top + bottom).encode())
    return top + bounded(shown, room, pointer) + bottom


def _keep(api: GitHub, number: int, first: str, body: str) -> str:
    """Write our comment; where GitHub failed, look before writing again."""
    for _ in range(_TRIES - 1):
        try:
            return _once(api, number, first, body)
        except UnclearError as error:
            say(str(error))
            api.sleep(1)
    return _once(api, number, first, body)


def _once(api: GitHub, number: int, first: str, body: str) -> str:
    author = text_input("COMMENT_AUTHOR")
    own = [
        found
        for found in api.pages(f"/issues/{number}/comments")
        if found["user"] is not None
        and found["user"]["login"] == author
        and (found["body"] or "").startswith(f"{first}\n")
    ]
    made = next((found for found in own if found["body"].rstrip() == body.rstrip()), None)
    if made is None:
        made = api.send("POST", f"/issues/{number}/comments", {"body": body})
    for found in own:
        if found["id"] != made["id"]:
            _fold(api, found, str(made["html_url"]))
    return str(made["html_url"])


def _fold(api: GitHub, found: dict[str, Any], newer: str) -> None:
    """One line where a plan stood; without our marker, so that it is never read again."""
    commit = (read_reviewed(found["body"]) or ("an earlier commit", ""))[0]
    body = (
        f"The plan for {commit} is superseded by [a newer one]({newer}). "
        "GitHub keeps its text under *edited*.\n"
    )
    try:
        api.send("PATCH", f"/issues/comments/{found['id']}", {"body": body})
    except NotThereError:
        say("An earlier comment was deleted meanwhile.")


if __name__ == "__main__":
    main(comment)
