"""Finds the plan that was reviewed, and what its digest was when it was.

Three records must agree: the artefact of the pull request's run for exactly the commit that was
merged, our newest comment about that commit, which nobody edited, and an approving review of that
commit that is younger than the comment. The digest is never taken from the artefact itself.
"""

import os
import re
from typing import Any

from artifacts import extract, newest, of_run
from names import artifact_name, marker, read_reviewed
from rest import GitHub, github
from reviews import approvals, moment
from runner import DEPENDABOT, Stopped, event, main, say, set_output, text_input, work_folder

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NEW_PLAN = "start this workflow by hand, which plans anew and waits for approval"


def find() -> None:
    """The plan's file and its digest."""
    api = github()
    name = artifact_name("plan", text_input("PROJECT"), text_input("CLUSTER"))
    run_id, digest = text_input("RUN_ID"), text_input("EXPECT_DIGEST")
    if digest and not _DIGEST.fullmatch(digest):
        raise Stopped(f"the input expect-digest is {digest!r}, which is no digest of a plan")
    if run_id:
        artifact = _of_run(api, name, run_id, digest)
    else:
        artifact, digest = _of_pull_request(api, name, digest)
    file = work_folder("kgitops-apply") / "plan.json"
    extract(api, artifact, "plan.json", file)
    say(f"Applying {digest} of run {artifact['workflow_run']['id']}.")
    set_output("plan-file", file)
    set_output("plan-digest", digest)


def _of_run(api: GitHub, name: str, run_id: str, digest: str) -> dict[str, Any]:
    """The plan of an earlier job, whose digest the workflow hands over beside it."""
    if not digest or not run_id.isdecimal():
        raise Stopped("the input run-id is a number, and takes expect-digest beside it")
    found = of_run(api, name, run_id)
    if found is None:
        raise Stopped(f"run {run_id} has no artefact {name}; {_NEW_PLAN}")
    return found


def _of_pull_request(api: GitHub, name: str, digest: str) -> tuple[dict[str, Any], str]:
    pull = _merged(api, os.environ["GITHUB_SHA"])
    number, head = int(pull["number"]), str(pull["head"]["sha"])
    if pull["head"]["repo"] is None or (
        pull["head"]["repo"]["full_name"] != pull["base"]["repo"]["full_name"]
    ):
        raise Stopped(
            f"pull request {number} is from a fork, whose plans are not taken; {_NEW_PLAN}"
        )
    digest = digest or _reviewed(api, pull)
    found = newest(api, name, lambda made_by: bool(made_by["head_sha"] == head))
    if found is None:
        raise Stopped(f"no plan {name} is kept for commit {head} of {number}; {_NEW_PLAN}")
    say(f"Pull request {number}, commit {head}.")
    return found, digest


def _merged(api: GitHub, commit: str) -> dict[str, Any]:
    """The pull request whose merge made this commit."""
    branch = event()["repository"]["default_branch"]
    if os.environ.get("GITHUB_REF") != f"refs/heads/{branch}":
        raise Stopped(f"only what was merged to {branch} is applied; start this workflow there")
    pulls = [
        pull
        for pull in api.pages(f"/commits/{commit}/pulls")
        if pull["merged_at"]
        and pull["merge_commit_sha"] == commit
        and pull["base"]["ref"] == branch
    ]
    if len(pulls) != 1:
        raise Stopped(
            f"commit {commit} is no pull request's merge, so no plan was reviewed; {_NEW_PLAN}"
        )
    return dict(pulls[0])


def _reviewed(api: GitHub, pull: dict[str, Any]) -> str:
    """The digest in our newest comment, which was there before the last approval."""
    number, head = int(pull["number"]), str(pull["head"]["sha"])
    shown = _newest_comment(api, pull)
    commit, digest = read_reviewed(shown["body"]) or ("", "none")
    if commit != head:
        raise Stopped(
            f"what was shown last on {number} is a plan of {commit or 'no commit'}, merged was "
            f"{head}; {_NEW_PLAN}"
        )
    if shown["updated_at"] != shown["created_at"]:
        raise Stopped(
            f"the comment with the plan on {number} was edited at {shown['updated_at']}, so it "
            f"can't say what was reviewed; {_NEW_PLAN}"
        )
    if digest == "none":
        raise Stopped(f"the plan that was reviewed on {number} is refused; {_NEW_PLAN}")
    given = approvals(api, number, head)
    if not given:
        raise Stopped(f"nobody who may write here approved commit {head} of {number}; {_NEW_PLAN}")
    last = max(given, key=lambda approval: approval.at)
    if last.at <= moment(shown["created_at"]):
        raise Stopped(
            f"the plan on {number} was made at {shown['created_at']}, after {last.login} approved "
            f"at {last.at:%Y-%m-%dT%H:%M:%SZ}; have it approved again and run this job again, or "
            f"{_NEW_PLAN}"
        )
    say(f"Approved by {last.login} after the plan was shown: {shown['html_url']}")
    return digest


def _newest_comment(api: GitHub, pull: dict[str, Any]) -> dict[str, Any]:
    first = marker("plan", text_input("PROJECT"), text_input("CLUSTER"))
    author, number = text_input("COMMENT_AUTHOR"), pull["number"]
    own = [
        dict(found)
        for found in api.pages(f"/issues/{number}/comments")
        if found["user"] is not None
        and found["user"]["login"] == author
        and (found["body"] or "").startswith(first)
    ]
    if own:
        return max(own, key=lambda found: int(found["id"]))
    if (pull.get("user") or {}).get("login") == DEPENDABOT:
        raise Stopped(
            f"pull request {number} is Dependabot's, whose runs get no secrets, so no plan was "
            f"shown on it; {_NEW_PLAN}"
        )
    raise Stopped(f"no plan was shown on pull request {number}; {_NEW_PLAN}")


if __name__ == "__main__":
    main(find)
