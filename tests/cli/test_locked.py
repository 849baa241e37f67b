"""Exit 7, by a process that really holds the lock or the store; and that only one applies."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.processes import PausedApply
from cli.projects import Project, acl, topic
from other_processes import running


def test_who_comes_second_is_told_who_applies_and_changes_nothing(
    project: Project,
    paused: Callable[..., PausedApply],
    kgitops: Kgitops,
) -> None:
    project.write(topic(), acl())
    kgitops("plan", project.folder, "-o", project.plan_file)
    first = paused("apply", project.folder, "--auto-approve", "--parallelism", 1)
    before = project.records()
    for words in (
        ("apply", project.folder, "--auto-approve"),
        ("apply", project.folder, "--auto-approve", "--resume"),
    ):
        text = kgitops(*words)
        assert text.code == 7
        assert f"(process {first.process.pid}) for the project payments, run 2" in text.err
        machine = kgitops(*words, "--format", "json")
        verdict = json.loads(machine.out.splitlines()[-1])["verdict"]
        assert (machine.code, verdict["exit"]) == (7, 7)
        assert verdict["reasons"][0]["sentence"] in text.err
    assert project.records() == before
    code, out, _ = first.open()
    assert (code, "Applied: 2 done. Run" in out) == (0, True)


def test_who_waits_plans_on_the_cluster_as_the_run_before_left_it(
    project: Project, paused: Callable[..., PausedApply], here: Path
) -> None:
    project.write(topic(), acl())
    first = paused("apply", project.folder, "--auto-approve", "--parallelism", 1)
    words = ("apply", project.folder, "--auto-approve", "--lock-timeout", "5m")
    second = subprocess.Popen(
        [sys.executable, "-m", "kgitops", *map(str, words)],
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert second.stderr
    said = second.stderr.readline()
    assert said.startswith("waiting up to 5m for the lock that ")
    assert f"(process {first.process.pid}) for the project payments, run 2" in said
    code, out, _ = first.open()
    assert (code, "Applied: 2 done. Run" in out) == (0, True)
    out, err = second.communicate(timeout=60)
    assert (second.returncode, err) == (0, "")
    assert "no changes" in out.lower(), "it planned after the wait"


def _store(project: Project) -> str:
    return f"embedded:{project.folder}/.kgitops/local.db"


def test_planning_needs_no_lock(
    project: Project,
    paused: Callable[..., PausedApply],
    kgitops: Kgitops,
) -> None:
    project.write(topic(), acl())
    first = paused("apply", project.folder, "--auto-approve", "--parallelism", 1)
    assert kgitops("plan", project.folder).code == 0
    assert kgitops("drift", project.folder).code == 0
    assert kgitops("export", "-c", _store(project), "-o", "exported").code == 0
    assert kgitops("snapshot", project.folder, "-o", "snapshot.json").code == 0
    assert kgitops("registry", "check", project.folder).code == 0
    assert kgitops("registry", "export", project.folder, "-o", "registry.json").code == 0
    first.open()


def test_a_turn_of_the_loop_never_waits(
    project: Project, paused: Callable[..., PausedApply], kgitops: Kgitops
) -> None:
    project.write(topic(), acl())
    refused = kgitops("reconcile", project.folder, "--once", "--lock-timeout", "1s")
    assert (refused.code, "a turn never waits for the lock" in refused.err) == (64, True)


def test_a_store_that_another_process_writes_is_locked(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    project.write_file(cluster={"url": "embedded:.kgitops/local.db?lockTimeoutMs=50"})
    kgitops("plan", project.folder)
    before = project.records()
    hold = (
        "import sqlite3, sys; store = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "store.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    with running(
        [sys.executable, "-c", hold, project.store],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout
        assert holder.stdin
        assert holder.stdout.readline() == "held\n"
        ran = kgitops("apply", project.folder, "--auto-approve")
        holder.stdin.close()
    assert ran.code == 7
    assert "has been locked by another process for 0.05 s" in ran.err
    assert project.records() == before


@pytest.mark.slow
def test_of_many_processes_that_apply_at_once_exactly_one_does(here: Path) -> None:
    """The others find the lock held, or that the winner has done it all already."""
    project = Project(here / "payments").write(*(topic(f"t{number}") for number in range(30)))
    saved = here / "plan.json"
    command = [sys.executable, "-m", "kgitops"]
    subprocess.run(
        [*command, "plan", project.folder, "-o", saved], check=True, stdout=subprocess.DEVNULL
    )
    racers = [
        subprocess.Popen(
            [*command, "apply", saved],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    ended = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    codes = sorted(code for _, code in ended)
    assert codes[0] == 0, ended
    # 4 and 9: who came after the winner had begun, or was done, may see that instead of its lock.
    assert set(codes[1:]) <= {4, 7, 9}, ended
    with closing(sqlite3.connect(project.store)) as store:
        rows = store.execute("SELECT records FROM log").fetchall()
    created = "".join(records for (records,) in rows).count('"TopicRecord"')
    assert created == 30
