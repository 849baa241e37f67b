"""The holder that a lock names, and the time that a command waits for another holder."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kgitops.model.errors import FindingsError, UsageError
from kgitops.workflow.project.locking import job_url, lock_holder, lock_timeout_ms
from kgitops.workflow.project.selection import Selection, open_workspace

GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/kafka",
    "GITHUB_RUN_ID": "42",
}


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, None),
        (GITHUB, "https://github.com/acme/kafka/actions/runs/42"),
        ({**GITHUB, "GITHUB_RUN_ID": ""}, None),
        ({"CI_JOB_URL": "https://gitlab.com/a/b/-/jobs/7"}, "https://gitlab.com/a/b/-/jobs/7"),
        ({"BUILD_URL": "http://ci.example.com/job/x/3/"}, "http://ci.example.com/job/x/3/"),
        ({"CI_JOB_URL": "https://me:secret@ci.example.com/7?token=s"}, "https://ci.example.com/7"),
        ({"CI_JOB_URL": "https://ci/\x1b[31m"}, None),
        ({"CI_JOB_URL": "javascript:alert(1)"}, None),
        ({"CI_JOB_URL": "https://[/7"}, None),
        ({"CI_JOB_URL": "https://ci/" + "a" * 400}, None),
    ],
)
def test_the_job_of_a_ci_is_named_by_its_bare_url(
    environ: Mapping[str, str], url: str | None
) -> None:
    assert job_url(environ) == url


def test_the_holder_is_a_user_a_host_a_process_and_the_job() -> None:
    holder = lock_holder({**GITHUB, "USER": "runner"})
    assert holder.startswith("runner@")
    assert holder.endswith(", https://github.com/acme/kafka/actions/runs/42)")
    assert "http" not in lock_holder({"USER": "runner"})


@pytest.mark.parametrize(
    ("typed", "written", "ci", "expected"),
    [
        (None, None, "", 0),
        (None, None, "true", 600_000),
        (None, None, "false", 0),
        (None, "0s", "true", 0),
        (None, "5m", "", 300_000),
        ("90s", "5m", "true", 90_000),
        ("0", "5m", "true", 0),
        ("1h30m", None, "", 5_400_000),
    ],
)
def test_an_option_wins_over_the_project_file_and_that_over_ci(
    typed: str | None, written: str | None, ci: str, expected: int, tmp_path: Path
) -> None:
    safety = f"{{lockTimeout: {written}}}" if written else "{}"
    _write(tmp_path, safety)
    selection = Selection(paths=(tmp_path,), environ={"CI": ci})
    assert lock_timeout_ms(typed, open_workspace(selection)) == expected


@pytest.mark.parametrize("typed", ["30", "soon", "-1s", "25h", "1.5", ""])
def test_a_time_needs_its_unit(typed: str, tmp_path: Path) -> None:
    _write(tmp_path, "{}")
    workspace = open_workspace(Selection(paths=(tmp_path,), environ={}))
    with pytest.raises(UsageError, match=r"not a time of at most 24h; write for example 30s"):
        lock_timeout_ms(typed, workspace)


@pytest.mark.parametrize("written", ["10", "soon", "1d"])
def test_the_project_file_says_what_a_time_is(written: str, tmp_path: Path) -> None:
    _write(tmp_path, f"{{lockTimeout: {written}}}")
    with pytest.raises(FindingsError, match="write for example 10m"):
        open_workspace(Selection(paths=(tmp_path,), environ={}))


def _write(folder: Path, safety: str) -> None:
    (folder / "kgitops.yaml").write_text(
        "apiVersion: kgitops/v1\n"
        "kind: Project\n"
        "metadata: {name: payments}\n"
        "spec:\n"
        "  defaultCluster: local\n"
        '  clusters: {local: {url: "embedded:"}}\n'
        f"  safety: {safety}\n",
        encoding="utf-8",
    )
