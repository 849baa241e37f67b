"""Real signals to a real process in the middle of an apply: 130 and 143, and what remains."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from cli.conftest import Kgitops
from cli.exit_cases import creation
from cli.processes import PausedApply
from cli.projects import Project, acl, quota, topic

SIGNALS = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@SIGNALS
def test_a_signal_lets_what_is_on_its_way_finish_and_a_resume_goes_on(
    number: signal.Signals,
    code: int,
    project: Project,
    paused: Callable[..., PausedApply],
    kgitops: Kgitops,
) -> None:
    project.write(topic(), acl(), quota())
    apply = paused("apply", project.folder, "--auto-approve", "--parallelism", 1)
    apply.interrupt(number)
    ended, out, err = apply.open()
    assert ended == code
    assert "Not complete: 1 done, 2 not attempted; 3 planned" in out
    assert f"(exit {code})" in out
    assert f"stopped by signal {int(number)} after what was on its way: 1 of 3 steps" in out
    assert "finishing the request on its way, then stopping" in err
    assert "Traceback" not in err

    resumed = kgitops("apply", project.folder, "--resume", "--auto-approve")
    assert resumed.code == 0
    assert "Applied: 3 done" in resumed.out
    assert kgitops("plan", project.folder, "--detailed-exitcode").code == 0


@SIGNALS
def test_the_last_event_has_the_verdict_of_the_interrupted_run(
    number: signal.Signals, code: int, project: Project, paused: Callable[..., PausedApply]
) -> None:
    project.write(topic(), acl())
    apply = paused(
        "apply", project.folder, "--auto-approve", "--parallelism", 1, "--format", "json"
    )
    apply.interrupt(number)
    ended, out, _ = apply.open()
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["verdict"]["exit"], ended) == ("apply_finished", code, code)
    assert {reason["exit"] for reason in last["verdict"]["reasons"]} == {code, 6}


def test_a_signal_after_the_last_request_does_not_spoil_a_success(
    project: Project, paused: Callable[..., PausedApply]
) -> None:
    project.write(topic())
    apply = paused("apply", project.folder, "--auto-approve")
    apply.interrupt(signal.SIGTERM)
    code, out, _ = apply.open()
    assert (code, "Applied: 1 done. Run" in out) == (0, True)


def test_a_second_signal_ends_the_process_and_the_journal_stands(
    project: Project, paused: Callable[..., PausedApply], kgitops: Kgitops
) -> None:
    """The dead process's lock is in the way until its lease has ended, and says so."""
    project.write(topic(), acl())
    apply = paused("apply", project.folder, "--auto-approve", "--parallelism", 1)
    apply.interrupt(signal.SIGINT)
    apply.interrupt(signal.SIGINT)
    code, _, _ = apply.ended()
    assert code == -signal.SIGINT
    locked = kgitops("apply", project.folder, "--resume", "--auto-approve")
    assert (locked.code, "the cluster is locked by" in locked.err) == (7, True)


@SIGNALS
def test_a_signal_at_the_question_changes_nothing(
    number: signal.Signals, code: int, project: Project
) -> None:
    project.write(topic())
    asking, answering = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgitops", "apply", str(project.folder)],
        stdin=answering,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    heard = b""
    while b"Only 'yes' is taken" not in heard:
        heard += os.read(process.stderr.fileno(), 1000)
    process.send_signal(number)
    _, rest = process.communicate(timeout=60)
    os.close(asking)
    os.close(answering)
    assert process.returncode == code
    assert b"interrupted while no request was on its way" in rest
    assert project.records() == []


def test_what_changed_while_the_question_was_open_is_found_before_anything_is_sent(
    project: Project,
) -> None:
    project.write(topic(), acl())
    asking, answering = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgitops", "apply", str(project.folder)],
        stdin=answering,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    heard = b""
    while b"Only 'yes' is taken" not in heard:
        heard += os.read(process.stderr.fileno(), 1000)
    project.change_behind(creation("orders"))
    before = project.records()
    os.write(asking, b"yes\n")
    _, rest = process.communicate(timeout=60)
    os.close(asking)
    os.close(answering)
    assert (process.returncode, b"topic/orders" in rest) == (4, True)
    assert project.records() == before


@pytest.mark.parametrize(("answer", "code"), [("no", 1), ("y", 1), ("", 1), ("yes", 0)])
def test_only_yes_is_taken(answer: str, code: int, project: Project) -> None:
    project.write(topic())
    asking, answering = os.openpty()
    os.write(asking, f"{answer}\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", "apply", str(project.folder)],
        stdin=answering,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(asking)
    os.close(answering)
    assert done.returncode == code
    assert ("Not applied; nothing was changed." in done.stderr) == (code == 1)
    assert (project.records() == []) == (code == 1)
