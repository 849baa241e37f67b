"""The issue about drift: ours alone, one, and nothing where nobody knows."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from actions.conftest import Repository
from actions.fake_github import BOT, REPOSITORY, Failure
from actions.scripts import script

FIRST = "<!-- kgitops-drift:.:prod -->\n"


def keep(repository: Repository, has_drift: str, shown: str = "Drift.") -> CompletedProcess[str]:
    repository.temp.mkdir(exist_ok=True)
    file: Path = repository.temp / "drift.md"
    file.write_text(shown)
    return script(
        repository,
        "issue.py",
        process=True,
        INPUT_PROJECT=".",
        INPUT_CLUSTER="prod",
        INPUT_LABEL="kgitops-drift",
        INPUT_ISSUE_AUTHOR=BOT,
        HAS_DRIFT=has_drift,
        MARKDOWN_FILE=str(file),
    )


@pytest.mark.parametrize("has_drift", ["true", "false"])
def test_issues_of_others_are_left_alone(has_drift: str, repository: Repository) -> None:
    github = repository.github
    github.page_size = 1
    label = ["kgitops-drift"]
    others = [
        github.add_issue({"body": f"{FIRST}mine", "labels": label}, author="mallory"),
        github.add_issue({"body": FIRST, "labels": label, "pull_request": {}}),
        github.add_issue({"body": FIRST, "labels": []}),
        github.add_issue({"body": f"Quoting {FIRST}", "labels": label}),
        github.add_issue({"body": None, "labels": label}),
        github.add_issue({"body": FIRST.replace("prod", "staging"), "labels": label}),
    ]
    before = [dict(issue) for issue in others]
    assert keep(repository, has_drift).returncode == 0
    assert others == before
    made = [issue for issue in github.issues.values() if issue not in others]
    assert len(made) == (has_drift == "true")


def test_a_closed_issue_is_not_opened_again(repository: Repository) -> None:
    for has_drift in ("true", "true", "false", "true"):
        assert keep(repository, has_drift).returncode == 0
    states = [issue["state"] for issue in repository.github.issues.values()]
    assert states == ["closed", "open"]


def test_where_nobody_knows_github_is_not_asked(repository: Repository) -> None:
    assert keep(repository, "").returncode == 0
    assert repository.github.asked == []


@pytest.mark.parametrize("done", [True, False])
def test_an_issue_whose_answer_was_lost_is_not_made_twice(
    done: bool, repository: Repository
) -> None:
    repository.github.failures = [Failure("POST", "/issues$", 500, carried_out=done)]
    assert keep(repository, "true").returncode == 0
    assert len(repository.github.issues) == 1


def test_without_the_right_it_fails_in_one_sentence(repository: Repository) -> None:
    repository.github.permissions = {"issues": "read"}
    ran = keep(repository, "true")
    assert (ran.returncode, ran.stdout.count("::error")) == (1, 1)
    assert f"POST /repos/{REPOSITORY}/issues (403" in ran.stdout


def test_a_long_drift_is_cut(repository: Repository) -> None:
    assert keep(repository, "true", "```diff\n" + "+ line\n" * 20_000 + "```").returncode == 0
    (issue,) = repository.github.issues.values()
    assert len(issue["body"].encode()) <= 65_536
    assert "**Cut off here.**" in issue["body"]
    assert issue["body"].startswith(FIRST)
