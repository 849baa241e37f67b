"""Finds the plan that was reviewed, and what its digest was when it was.

Two places must agree: the artefact of the pull request's run for exactly the commit that was
merged, and our comment that its reviewers read. Which is why the digest is never taken from the
artefact itself.
"""

import os
import re
from typing import Any

from artifacts import extract, is_own, newest
from names import artifact_name, marker, read_reviewed
from rest import GitHub, github
from runner import Stopped, event, main, say, set_output, text_input, work_folder

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
    for artifact in api.pages(f"/actions/runs/{run_id}/artifacts", "artifacts", name=name):
        if artifact["name"] == name and not artifact["expired"] and is_own(artifact):
            return dict(artifact)
    raise Stopped(f"run {run_id} has no artefact {name}; {_NEW_PLAN}")


def _of_pull_request(api: GitHub, name: str, digest: str) -> tuple[dict[str, Any], str]:
    pull = _merged(api, os.environ["GITHUB_SHA"])
    number, head = int(pull["number"]), str(pull["head"]["sha"])
    if pull["head"]["repo"] is None or (
        pull["head"]["repo"]["full_name"] != pull["base"]["repo"]["full_name"]
    ):
        raise Stopped(
            f"pull request {number} is from a fork, whose plans are not taken; {_NEW_PLAN}"
        )
    digest = digest or _reviewed(api, number, head)
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


def _reviewed(api: GitHub, number: int, head: str) -> str:
    first = marker("plan", text_input("PROJECT"), text_input("CLUSTER"))
    author = text_input("COMMENT_AUTHOR")
    for found in api.pages(f"/issues/{number}/comments"):
        own = found["user"] is not None and found["user"]["login"] == author
        if not own or not (found["body"] or "").startswith(first):
            continue
        commit, digest = read_reviewed(found["body"]) or ("", "none")
        if commit != head:
            raise Stopped(
                f"what was reviewed on {number} is a plan of {commit or 'no commit'}, merged was "
                f"{head}; {_NEW_PLAN}"
            )
        if digest == "none":
            raise Stopped(f"the plan that was reviewed on {number} is refused; {_NEW_PLAN}")
        return digest
    raise Stopped(f"no plan was shown on pull request {number}; {_NEW_PLAN}")


if __name__ == "__main__":
    main(find)
