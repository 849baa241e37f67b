"""Only the plan that was reviewed is found: every other way to a plan ends in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from actions.conftest import FORK_ID, HEAD, MERGED, Repository
from actions.fake_github import Failure
from actions.scripts import module, script
from actions.step_runner import read_outputs
from report.workflow_commands import commands

DIGEST = f"sha256:{'1' * 64}"
PLAN = b'{"the": "plan"}'
Break = Callable[[Repository], object]


def names() -> tuple[str, str, str]:
    with module("names") as found:
        return (
            found.artifact_name("plan", ".", "prod"),
            found.marker("plan", ".", "prod"),
            found.reviewed_line(HEAD, DIGEST),
        )


NAME, FIRST, REVIEWED = names()


@pytest.fixture
def reviewed(repository: Repository) -> Repository:
    """A plan that was reviewed and whose pull request is merged, among others."""
    repository.merge()
    github = repository.github
    github.page_size = 2
    github.add_artifact(NAME, {"plan.json": b"of an earlier commit"}, head_sha="e" * 40)
    github.add_artifact(NAME, {"plan.json": b"of an earlier attempt"}, head_sha=HEAD)
    github.add_artifact(NAME, {"plan.json": PLAN, "plan.md": b"# plan"}, head_sha=HEAD, run_id=5)
    github.add_artifact("another", {"plan.json": b"another"}, head_sha=HEAD)
    github.add_artifact(NAME, {"plan.json": b"gone"}, head_sha=HEAD, expired=True)
    github.add_artifact(NAME, {"plan.json": b"forged"}, head_sha=HEAD, head_repository_id=FORK_ID)
    for author in ("mallory", "someone", "github-actions[bot]"):
        digest = DIGEST if "bot" in author else f"sha256:{'f' * 64}"
        github.add_comment(7, f"{FIRST}\n{REVIEWED.replace(DIGEST, digest)}\nA plan.", author)
    github.add_review(7, "e" * 40, "lin")
    github.add_review(7, HEAD, "lin", "COMMENTED")
    github.add_review(7, HEAD)
    return repository


def find(repository: Repository, *, process: bool = False, **more: str) -> CompletedProcess[str]:
    env = {
        "INPUT_PROJECT": ".",
        "INPUT_CLUSTER": "prod",
        "INPUT_COMMENT_AUTHOR": "github-actions[bot]",
        **more,
    }
    event = json.dumps({"repository": {"default_branch": "main"}})
    return script(repository, "find_plan.py", event, process=process, **env)


def outputs(repository: Repository) -> dict[str, str]:
    return read_outputs((repository.temp / "output").read_text())


@pytest.mark.parametrize("process", [False, True], ids=["here", "process"])
def test_the_plan_of_the_merged_commit_is_found_with_the_digest_of_the_review(
    reviewed: Repository, *, process: bool
) -> None:
    assert find(reviewed, process=process).returncode == 0
    found = outputs(reviewed)
    assert found["plan-digest"] == DIGEST
    assert Path(found["plan-file"]).read_bytes() == PLAN
    assert reviewed.github.changes == []


def test_a_plan_that_was_shown_again_holds_once_it_is_approved_again(reviewed: Repository) -> None:
    _shown_again(reviewed)
    assert find(reviewed).returncode == 1
    reviewed.github.add_review(7, HEAD, "lin")
    assert find(reviewed).returncode == 0
    assert outputs(reviewed)["plan-digest"] == DIGEST


def test_a_later_word_that_is_no_opinion_takes_no_approval_back(reviewed: Repository) -> None:
    reviewed.github.add_review(7, HEAD, state="COMMENTED")
    reviewed.github.add_review(7, HEAD, "mallory", "CHANGES_REQUESTED")
    assert find(reviewed).returncode == 0


def test_a_digest_that_is_given_needs_no_comment(reviewed: Repository) -> None:
    reviewed.github.comments.clear()
    digest = f"sha256:{'2' * 64}"
    assert find(reviewed, INPUT_EXPECT_DIGEST=digest).returncode == 0
    assert outputs(reviewed)["plan-digest"] == digest


def test_the_plan_of_an_earlier_job_takes_its_digest_from_there(reviewed: Repository) -> None:
    assert find(reviewed, INPUT_RUN_ID="5", INPUT_EXPECT_DIGEST=DIGEST).returncode == 0
    assert Path(outputs(reviewed)["plan-file"]).read_bytes() == PLAN


def _comment(text: str) -> Break:
    return lambda repository: repository.github.comments[7][2].update(body=text)


def _pull(**more: object) -> Break:
    return lambda repository: repository.github.pulls[MERGED][0].update(more)


def _review(**more: object) -> Break:
    return lambda repository: repository.github.reviews[7][-1].update(more)


def _shown_again(repository: Repository) -> None:
    """Another digest, and then the approved one once more: the newest is what counts."""
    for digest in (f"sha256:{'e' * 64}", DIGEST):
        repository.github.add_comment(7, f"{FIRST}\n{REVIEWED.replace(DIGEST, digest)}\n")


REFUSED: dict[str, tuple[Break, str]] = {
    "no pull request": (lambda r: r.github.pulls.clear(), "is no pull request's merge"),
    "another commit's merge": (_pull(merge_commit_sha="9" * 40), "is no pull request's merge"),
    "not merged": (_pull(merged_at=None), "is no pull request's merge"),
    "into another branch": (_pull(base={"ref": "dev"}), "is no pull request's merge"),
    "two of them": (
        lambda r: r.github.pulls[MERGED].append(r.github.pulls[MERGED][0]),
        "is no pull request's merge",
    ),
    "of a fork": (lambda r: r.merge(fork=True), "is from a fork"),
    "of a fork that is gone": (_pull(head={"sha": HEAD, "repo": None}), "is from a fork"),
    "never shown": (lambda r: r.github.comments.clear(), "no plan was shown"),
    "shown by another only": (lambda r: r.github.comments[7].pop(), "no plan was shown"),
    "shown for another commit": (
        _comment(f"{FIRST}\n{REVIEWED.replace(HEAD, 'd' * 40)}\n"),
        f"is a plan of {'d' * 40}",
    ),
    "pushed after the review": (lambda r: r.merge(head="d" * 40), f"is a plan of {HEAD}"),
    "refused": (_comment(f"{FIRST}\n{REVIEWED.replace(DIGEST, 'none')}\n"), "is refused"),
    "a comment that was edited": (_comment(f"{FIRST}\nLooks good\n{REVIEWED}"), "no commit"),
    "a comment that was edited later": (
        lambda r: r.github.edit_comment(r.github.comments[7][2], f"{FIRST}\n{REVIEWED}\n"),
        "was edited at 2026-11-21T09:00:07Z",
    ),
    "shown again after the approval": (_shown_again, "after ada approved"),
    "shown again in the same second": (
        lambda r: r.github.reviews[7][-1].update(
            submitted_at=r.github.comments[7][2]["created_at"]
        ),
        "after ada approved",
    ),
    "never approved": (lambda r: r.github.reviews.clear(), "nobody who may write"),
    "approved for another commit": (_review(commit_id="e" * 40), "nobody who may write"),
    "dismissed": (_review(state="DISMISSED"), "nobody who may write"),
    "not approved": (_review(state="CHANGES_REQUESTED"), "nobody who may write"),
    "approved and taken back": (
        lambda r: r.github.add_review(7, HEAD, state="CHANGES_REQUESTED"),
        "nobody who may write",
    ),
    "approved by who may only read": (
        _review(user={"login": "guest", "type": "User"}),
        "nobody who may write",
    ),
    "approved by a stranger": (
        _review(user={"login": "mallory", "type": "User"}),
        "nobody who may write",
    ),
    "approved by a program": (
        _review(user={"login": "ada", "type": "Bot"}),
        "nobody who may write",
    ),
    "approved by who is gone": (_review(user=None), "nobody who may write"),
    "approved at no time": (_review(submitted_at="soon"), "can't be read"),
    "nothing kept": (lambda r: r.github.artifacts.clear(), "no plan kgitops-plan-prod"),
    "only a fork's kept": (
        lambda r: r.github.artifacts.__delitem__(slice(0, 5)),
        "no plan kgitops-plan-prod",
    ),
    "no zip": (lambda r: r.github.files.update(dict.fromkeys(r.github.files, b"PK")), "no usable"),
    "another file in it": (
        lambda r: r.github.add_artifact(NAME, {"../plan.json": PLAN}, head_sha=HEAD),
        "no usable plan.json",
    ),
    "store of artefacts fails": (
        lambda r: r.github.files.clear(),
        "knows nothing at",
    ),
    "no right to read": (lambda r: setattr(r.github, "permissions", {}), "permissions"),
    "GitHub is down": (
        lambda r: r.github.failures.append(Failure("GET", "zip", 503, times=9)),
        "GitHub fails",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_else_is_taken_for_the_reviewed_plan(name: str, reviewed: Repository) -> None:
    spoil, says = REFUSED[name]
    spoil(reviewed)
    ran = find(reviewed)
    errors = [command for command in commands(ran.stdout) if command.name == "error"]
    assert (ran.returncode, len(errors)) == (1, 1), ran.stdout
    assert says in errors[0].message
    assert "Traceback" not in ran.stdout
    assert outputs(reviewed) == {}


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"INPUT_RUN_ID": "5"}, "takes expect-digest"),
        ({"INPUT_RUN_ID": "5/../6", "INPUT_EXPECT_DIGEST": DIGEST}, "is a number"),
        ({"INPUT_RUN_ID": "6", "INPUT_EXPECT_DIGEST": DIGEST}, "run 6 has no artefact"),
        ({"INPUT_EXPECT_DIGEST": "sha256:1"}, "is no digest"),
        ({"GITHUB_REF": "refs/heads/dev"}, "only what was merged to main"),
        ({"GITHUB_REF": "refs/pull/7/merge"}, "only what was merged to main"),
    ],
)
def test_inputs_that_name_no_plan(inputs: dict[str, str], says: str, reviewed: Repository) -> None:
    ran = find(reviewed, process=False, **inputs)
    assert (ran.returncode, says in ran.stdout) == (1, True), ran.stdout
    assert outputs(reviewed) == {}


def test_a_fork_s_run_is_no_earlier_job(reviewed: Repository) -> None:
    reviewed.github.add_artifact(
        NAME, {"plan.json": b"forged"}, run_id=8, head_repository_id=FORK_ID
    )
    ran = find(reviewed, INPUT_RUN_ID="8", INPUT_EXPECT_DIGEST=DIGEST)
    assert (ran.returncode, "run 8 has no artefact" in ran.stdout) == (1, True)
