"""Keeps one comment on a pull request up to date with the plan.

Only a comment of our own that begins with our marker is ever changed. A pull request from a fork
gets none, because no token that could write it belongs where foreign code runs; its plan is in
the job's summary.
"""

import os
from pathlib import Path

from bounded import COMMENT_LIMIT, bounded
from command import code_span
from names import marker, reviewed_line
from rest import GitHub, NotThereError, UnclearError, github
from runner import event, flag_input, main, run_url, say, set_output, text_input

_TRIES = 4


def comment() -> None:
    """Write the comment, where there is a pull request that can have one."""
    pull = event().get("pull_request")
    if not flag_input("COMMENT"):
        return
    if not pull:
        say("No comment: this run is not about a pull request.")
        return
    home = pull["head"]["repo"]
    if home is None or home["full_name"] != os.environ["GITHUB_REPOSITORY"]:
        say("No comment: the pull request is from a fork. The plan is in the job's summary.")
        return
    first = marker("plan", text_input("PROJECT"), text_input("CLUSTER"))
    body = _body(first, pull["head"]["sha"])
    set_output("comment-url", _keep(github(), int(pull["number"]), first, body))


def _body(first: str, head: str) -> str:
    shown = Path(os.environ["MARKDOWN_FILE"]).read_text(encoding="utf-8")
    name = code_span(os.environ["ARTIFACT_NAME"])
    run = f"[this run]({run_url()})"
    pointer = (
        f"**Cut off here.** The whole plan is in the summary and the artefact {name} of {run}."
    )
    top = f"{first}\n{reviewed_line(head, os.environ['PLAN_DIGEST'])}\n"
    bottom = f"\n\nFor commit {head}, by {run}; artefact {name}.\n"
    room = COMMENT_LIMIT - len((top + bottom).encode())
    return top + bounded(shown, room, pointer) + bottom


def _keep(api: GitHub, number: int, first: str, body: str) -> str:
    """Change our comment, or write it; where GitHub failed, look before writing again."""
    for _ in range(_TRIES - 1):
        try:
            return _once(api, number, first, body)
        except UnclearError as error:
            say(str(error))
            api.sleep(1)
    return _once(api, number, first, body)


def _once(api: GitHub, number: int, first: str, body: str) -> str:
    author = text_input("COMMENT_AUTHOR")
    for found in api.pages(f"/issues/{number}/comments"):
        own = found["user"] is not None and found["user"]["login"] == author
        if not own or not (found["body"] or "").startswith(first):
            continue
        try:
            changed = api.send("PATCH", f"/issues/comments/{found['id']}", {"body": body})
        except NotThereError:
            continue  # deleted since it was listed
        return str(changed["html_url"])
    return str(api.send("POST", f"/issues/{number}/comments", {"body": body})["html_url"])


if __name__ == "__main__":
    main(comment)
