"""An unfinished run is reported with the command that finishes it, as it is to be typed."""

import json
import re
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.processes import PausedApply
from cli.projects import Project, acl, topic

from kgitops.plan.document.file import plan_digest
from kgitops.plan.reading import read_plan

FORMATS = ("text", "json", "markdown", "html", "sarif", "junit", "github")
RUN_ID = r"\d{8}T\d{6}Z-[0-9a-f]{8}"


def stop(apply: PausedApply) -> None:
    """Let it end after the request that is on its way."""
    apply.interrupt(signal.SIGTERM)
    assert apply.open()[0] == 143


def written(folder: Path) -> Project:
    """A project below the folder, with a second cluster beside the default one."""
    project = Project(folder / "my team" / "payments").write(topic(), acl(), topic("other"))
    two = {"url": "embedded:.kgitops/local.db", "brokers": 3}
    project.write_file(clusters={"local": two, "it's prod": two}, defaultCluster="local")
    return project


@pytest.fixture
def elsewhere(here: Path) -> Project:
    """The project in another folder than the one that commands run in."""
    return written(here)


COMMAND = """kgitops apply --resume -c 'it'"'"'s prod' 'my team/payments'"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after an apply that was stopped; only for copies."""
    folder = tmp_path_factory.mktemp("stopped")
    project = written(folder)
    apply = PausedApply(
        *(folder / "gate", "apply", project.folder, "-c", "it's prod"),
        *("--parallelism", "1", "--auto-approve"),
    )
    try:
        stop(apply)
    finally:
        apply.stop()
    return project


@pytest.fixture
def unfinished(stopped: Project, here: Path) -> Project:
    copy = here / "my team" / "payments"
    shutil.copytree(stopped.folder, copy)
    return Project(copy)


def said(text: str) -> str:
    """The text without the escapes of a format."""
    for escaped, plain in {"&#39;": "'", "&#34;": '"', "&quot;": '"', '\\"': '"'}.items():
        text = text.replace(escaped, plain)
    return text


@pytest.mark.parametrize("command", ["plan", "drift"])
def test_every_format_names_the_run_and_the_exact_command(
    unfinished: Project, kgitops: Kgitops, command: str
) -> None:
    words = (command, unfinished.folder, "-c", "it's prod", "--detailed-exitcode")
    for form in FORMATS:
        ran = kgitops(*words, "--format", form)
        assert ran.code == (2 if command == "plan" else 0), ran.said
        assert COMMAND in said(ran.out), form
        assert re.search(RUN_ID, ran.out), form
    told = json.loads(kgitops(*words, "--format", "json").out)["unfinished_run"]
    assert told["resume"] == COMMAND
    assert (told["done"], told["locked_by"]) == (2, None)


def test_the_command_finishes_it_and_then_there_is_nothing_more(
    unfinished: Project, kgitops: Kgitops
) -> None:
    ran = kgitops(*shlex.split(COMMAND)[1:])
    assert ran.code == 0, ran.said
    planned = kgitops("plan", unfinished.folder, "-c", "it's prod", "--format", "json")
    assert "unfinished_run" not in json.loads(planned.out)
    ran = kgitops("apply", "--resume", "-c", "it's prod", unfinished.folder)
    (cluster_id,) = re.findall(r"\(id (\S+), embedded\)", kgitops("drift", unfinished.folder).out)
    assert ran.code == 0
    assert (
        "Nothing to resume: the project payments has no unfinished run on it's prod "
        f"(embedded:.kgitops/local.db, cluster id {cluster_id})."
    ) in ran.err


def test_in_the_project_s_folder_the_command_needs_no_path(
    unfinished: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(unfinished.folder)
    told = json.loads(kgitops("plan", "--format", "json").out)["unfinished_run"]
    assert told["resume"] == "kgitops apply --resume -c local"
    # It is one cluster with two names: either finishes the run.
    assert kgitops(*shlex.split(told["resume"])[1:]).code == 0


def test_a_saved_plan_keeps_it_outside_of_the_plan_s_digest(
    unfinished: Project, kgitops: Kgitops
) -> None:
    file = unfinished.plan_file
    assert kgitops("plan", unfinished.folder, "-o", file).code == 0
    text = file.read_text()
    sealed = read_plan(text, "it")
    assert sealed.unfinished_run is not None
    assert sealed.plan_digest == plan_digest(sealed.plan)
    assert "apply --resume -c local" in kgitops("show", file, "--format", "markdown").out
    document = json.loads(text)
    for forged in ({"resume": "rm -rf /"}, {"run_id": "x"}, None):
        if forged is None:
            del document["unfinished_run"]
        else:
            document["unfinished_run"] = json.loads(text)["unfinished_run"] | forged
        changed = unfinished.folder / "forged.json"
        changed.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        assert kgitops("show", changed).code == 9
        assert kgitops("apply", changed).code == 9
    applied = kgitops("apply", file)
    assert applied.code == 0, applied.said
    assert "unfinished" not in kgitops("plan", unfinished.folder).out


def test_a_run_that_is_under_way_may_still_be_at_work(
    elsewhere: Project, kgitops: Kgitops, paused: Callable[..., PausedApply]
) -> None:
    apply = paused("apply", elsewhere.folder, "--parallelism", "1", "--auto-approve")
    planned = kgitops("plan", elsewhere.folder, "--format", "json")
    told = json.loads(planned.out)["unfinished_run"]
    assert f"(process {apply.process.pid})" in told["locked_by"]
    text = kgitops("plan", elsewhere.folder).out
    assert "holds the lock and may be at work on it; if not, `kgitops apply --resume" in text
    stop(apply)


def test_the_run_of_another_project_is_none_of_ours(unfinished: Project, kgitops: Kgitops) -> None:
    other = Project(unfinished.folder.parent / "other", name="other", uid="another-uid")
    other.write(topic("third")).write_file(cluster={"url": f"embedded:{unfinished.store}"})
    planned = kgitops("plan", other.folder, "--format", "json")
    assert planned.code == 0, planned.said
    assert "unfinished_run" not in json.loads(planned.out)


def test_the_apply_itself_names_the_command(
    elsewhere: Project, kgitops: Kgitops, paused: Callable[..., PausedApply]
) -> None:
    apply = paused(
        "apply", elsewhere.folder, "-c", "it's prod", "--parallelism", "1", "--auto-approve"
    )
    apply.interrupt(signal.SIGTERM)
    code, out, err = apply.open()
    assert code == 143
    assert f"`{COMMAND}` continues it" in out + err
