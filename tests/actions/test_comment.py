"""The comment on a pull request: ours alone, once, whole, and what GitHub may answer."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from actions.conftest import HEAD, Repository
from actions.fake_github import REPOSITORY, Failure
from actions.scripts import script
from report.workflow_commands import commands

FIRST = "<!-- kgitops-plan:.:prod -->\n"
DIGEST = f"sha256:{'1' * 64}"


def event(home: str | None = REPOSITORY) -> str:
    repo = {"full_name": home} if home else None
    pull = {"number": 7, "title": "x\n::set-output name=y::z", "head": {"sha": HEAD, "repo": repo}}
    return json.dumps({"pull_request": pull})


def write(repository: Repository, shown: str = "A plan.", **more: str) -> CompletedProcess[str]:
    repository.temp.mkdir(exist_ok=True)
    file: Path = repository.temp / "plan.md"
    file.write_text(shown)
    env = {
        "INPUT_COMMENT_AUTHOR": "github-actions[bot]",
        "INPUT_PROJECT": ".",
        "INPUT_CLUSTER": "prod",
        "MARKDOWN_FILE": str(file),
        "PLAN_DIGEST": DIGEST,
        "ARTIFACT_NAME": "kgitops-plan-prod",
        **more,
    }
    return script(repository, "comment.py", env.pop("event", event()), **env)


def bodies(repository: Repository) -> list[str]:
    return [comment["body"] for comment in repository.github.comments.get(7, [])]


def test_only_our_own_comment_is_changed_wherever_it_stands(repository: Repository) -> None:
    """Among pages of others: people's, with our marker too; other clusters'; a deleted user's."""
    github = repository.github
    github.page_size = 2
    others = [
        ("mallory", f"{FIRST}I am the plan"),
        ("github-actions[bot]", f"Quoting:\n{FIRST}"),
        ("github-actions[bot]", "<!-- kgitops-plan:.:staging -->\nanother cluster"),
        (None, f"{FIRST}by a user who is gone"),
        ("someone", ""),
    ]
    for author, body in others:
        github.add_comment(7, body, author)
    assert write(repository).returncode == 0
    assert github.changes == [("POST", f"/repos/{REPOSITORY}/issues/7/comments")]
    assert write(repository, "Another plan.").returncode == 0
    assert [method for method, _ in github.changes] == ["POST", "POST", "PATCH"]
    *kept, folded, own = bodies(repository)
    assert kept == [body for _, body in others]
    assert folded.startswith(f"The plan for {HEAD} is superseded by [a newer one](")
    assert own.startswith(f"{FIRST}<!-- kgitops-reviewed head={HEAD} plan={DIGEST} -->\nAnother")


@pytest.mark.parametrize("home", ["mallory/streams", None])
def test_a_fork_gets_no_comment_and_github_is_not_asked(
    home: str | None, repository: Repository
) -> None:
    ran = write(repository, event=event(home))
    assert (ran.returncode, repository.github.asked) == (0, [])
    assert "from a fork" in ran.stdout


def test_without_a_pull_request_github_is_not_asked(repository: Repository) -> None:
    assert write(repository, event="{}").returncode == 0
    assert repository.github.asked == []


def test_the_record_of_a_plan_is_never_changed(repository: Repository) -> None:
    """Nor where the same is written again: its time says what was there at the approval."""
    for _ in range(2):
        assert write(repository).returncode == 0
    (comment,) = repository.github.comments[7]
    assert comment["created_at"] == comment["updated_at"]
    assert [method for method, _ in repository.github.changes] == ["POST"]


@pytest.mark.parametrize("approved", [True, False])
def test_a_plan_of_a_commit_that_was_approved_before_says_so(
    approved: bool, repository: Repository
) -> None:
    repository.github.add_review(7, HEAD if approved else "d" * 40)
    assert write(repository).returncode == 0
    (body,) = bodies(repository)
    assert ("only if it is approved again" in body) is approved


@pytest.mark.parametrize("done", [True, False])
def test_where_github_fails_it_looks_before_it_writes_again(
    done: bool, repository: Repository
) -> None:
    """A comment whose answer was lost is not written twice; one that was not made, is."""
    github = repository.github
    github.failures = [Failure("POST", "comments", 502, carried_out=done)]
    assert write(repository).returncode == 0
    assert len(bodies(repository)) == 1
    assert [method for method, _ in github.changes] == ["POST"] * (1 if done else 2)


def test_an_earlier_comment_that_was_deleted_meanwhile_does_no_harm(repository: Repository) -> None:
    github = repository.github
    assert write(repository).returncode == 0
    github.failures = [Failure("PATCH", "comments", 404)]
    assert write(repository, "New.").returncode == 0
    assert [method for method, _ in github.changes] == ["POST", "POST", "PATCH"]
    assert "New." in bodies(repository)[-1]


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (
            Failure("GET", "comments", 403, times=9, message="Resource not accessible"),
            "permissions",
        ),
        (Failure("GET", "comments", 401, times=9, message="Bad credentials"), "permissions"),
        (Failure("GET", "comments", 404, times=9), "knows nothing at"),
        (Failure("POST", "comments", 422, times=9, message="Body is ::x::"), "422 Body is ::x::"),
        (Failure("POST", "comments", 403, times=9, message="read-only"), "permissions"),
        (Failure("GET", "comments", 403, times=9, headers={"retry-after": "3600"}), "3600 s"),
        (
            Failure(
                "GET",
                "comments",
                403,
                times=9,
                headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999"},
            ),
            "rate limit",
        ),
    ],
    ids=str,
)
def test_what_github_refuses_is_one_sentence_and_fails(
    failure: Failure, says: str, repository: Repository
) -> None:
    repository.github.failures = [failure]
    ran = write(repository)
    (told,) = commands(ran.stdout)
    assert (ran.returncode, told.name) == (1, "error")
    assert says in told.message
    assert "Traceback" not in ran.stdout
    assert bodies(repository) == []


@pytest.mark.parametrize(
    "failure",
    [
        Failure("GET", "comments", 500, times=1),
        Failure("GET", "comments", 429, times=2, headers={"retry-after": "0"}),
        Failure("POST", "comments", 403, times=1, headers={"retry-after": "0"}),
        Failure(
            "POST",
            "comments",
            403,
            times=1,
            headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"},
        ),
    ],
    ids=str,
)
def test_what_passes_is_waited_for(failure: Failure, repository: Repository) -> None:
    repository.github.failures = [failure]
    assert write(repository).returncode == 0
    assert len(bodies(repository)) == 1


def test_a_next_page_on_another_host_is_not_asked_for(repository: Repository) -> None:
    """It would be given the token."""
    link = '<http://evil.example/comments?page=2>; rel="next"'
    repository.github.failures = [
        Failure("GET", "comments", 200, headers={"Link": link}, content=[])
    ]
    ran = write(repository)
    assert ran.returncode == 1
    assert "another host" in ran.stdout


def test_without_a_token_or_a_server_it_says_so(repository: Repository) -> None:
    ran = write(repository, GITHUB_TOKEN="")
    assert (ran.returncode, "there is no token" in ran.stdout) == (1, True)


def test_a_plan_that_is_too_long_is_cut_and_says_where_the_rest_is(repository: Repository) -> None:
    shown = (
        "<details><summary>x</summary>\n\n```diff\n"
        + "+ 💥 line\n" * 20_000
        + "```\n\n</details>\n"
    )
    assert write(repository, shown).returncode == 0
    (body,) = bodies(repository)
    assert len(body.encode()) <= 65_536
    assert len(body.encode()) > 60_000
    assert "**Cut off here.** The whole plan is in the summary and the artefact" in body
    assert body.count("```") == 2
    assert body.count("<details>") == body.count("</details>")
