"""``--lock-timeout``: every command that takes the cluster's lock waits for it, then gives up."""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from cli.conftest import Kgitops
from cli.processes import PausedApply
from cli.projects import UID, Project, acl, as_yaml, topic
from cli.test_registry_commands import put

from kgitops.apply.lock_claims import claim_record
from kgitops.cli.main import COMMANDS, GROUPS, main
from kgitops.cli.running.late import command_at
from kgitops.model.clock import SystemClock

HOLDER = "bob@ci (process 7, https://ci.example.com/jobs/9) for the project billing, run R1"
SINCE = "2026-11-21T09:12:07Z"
KEY = "lock/held"
RULE = ("--operation", "Read", "--topic", "orders", "--allow-principal")
EMEA = ("--virtual-cluster", "emea")

LOCKED: dict[str, tuple[str, ...]] = {
    "apply": ("apply", "--auto-approve"),
    "apply in JSON": ("apply", "--auto-approve", "--format", "json"),
    "apply of a plan": ("apply", "plan.json"),
    "apply of the rest": ("apply", "--resume", "--auto-approve"),
    "acls add": ("acls", "--add", *RULE, "User:new"),
    "acls remove": ("acls", "--remove", *RULE, "User:old"),
    "reconcile suspend": ("reconcile", "suspend", "--reason", "why"),
    "reconcile resume": ("reconcile", "resume"),
    "registry repair": ("registry", "repair", "--auto-approve"),
    "registry import": ("registry", "import", "saved.json", "--replace", "--auto-approve"),
    "registry release": ("registry", "release", "--to", UID.replace("0", "1")),
    "vc create": ("vc", "create", "--virtual-cluster", "apac"),
    "vc alter": ("vc", "alter", *EMEA, "--add", "--user", "User:a"),
    "vc delete": ("vc", "delete", *EMEA),
}
"""Each command that takes the lock, once for each way in which it does."""
UNLOCKED = {
    *("init", "validate", "plan", "show", "drift", "explain", "diff", "snapshot", "export"),
    *("convert", "catalogue", "schema", "serve", "gateway"),
    *("policy list", "policy explain", "policy test", "policy audit"),
    *("registry check", "registry export"),
    *("sandbox start", "sandbox stop", "sandbox status", "sandbox tool"),
    *("vc list", "vc describe", "vc bindings", "vc graph", "vc orphans", "vc plan-migration"),
    *("vc export-acls", "vc export", "vc quota explain"),
    *("fleet plan", "fleet audit", "fleet summary", "fleet compile", "fleet snapshot"),
}
"""The commands that never take it."""


def commands() -> Iterator[tuple[str, Any]]:
    for name, (place, _) in (COMMANDS | GROUPS).items():
        yield from leaves(command_at(f"kgitops.cli.{place}", name), name)


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 (typer has no type)
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, below in command.commands.items():
        yield from leaves(below, f"{name} {word}")


def test_every_command_is_known_to_take_the_lock_or_not_to() -> None:
    """A new command belongs into one of the two: LOCKED is tried below."""
    known = dict(commands())
    locked = {n for n in known for w in LOCKED.values() if w[: len(n.split())] == (*n.split(),)}
    assert locked | UNLOCKED == set(known)
    assert locked & UNLOCKED == set()
    waiting = {
        name for name, it in known.items() if any("--lock-timeout" in p.opts for p in it.params)
    }
    assert waiting == locked


@pytest.fixture(scope="module", params=["", "?virtual.clusters=lowered"], ids=["native", "lowered"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with something to do for each command; only for copies."""
    project = Project(tmp_path_factory.mktemp("made") / "payments").write(topic())
    project.write_file(cluster={"url": f"embedded:.kgitops/local.db{request.param}"})
    url = f"embedded:{project.store}{request.param}"
    for words in (
        ("apply", project.folder, "--auto-approve"),
        ("registry", "export", project.folder, "-o", project.folder / "saved.json"),
        ("vc", "create", *EMEA, "-c", url),
        ("acls", "--add", *RULE, "User:old", "-c", url),
    ):
        assert main([*map(str, words)]) == 0
    new = as_yaml([topic("new"), acl("new")])
    (project.folder / "manifests" / "new.yaml").write_text(new)
    return project


@pytest.fixture(params=LOCKED)
def words(
    request: pytest.FixtureRequest, made: Project, project: Project, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """The words of a command, to be run in a copy of the project where another run has the lock."""
    shutil.copytree(made.folder, project.folder)
    if request.param == "apply of a plan":
        assert main(["plan", str(project.folder), "-o", str(project.plan_file)]) == 0
    if request.param == "apply of the rest":
        stop_halfway(project)
    if request.param == "registry repair":
        put(project, "hello", "world")
    monkeypatch.chdir(project.folder)
    claim = claim_record(KEY, holder=HOLDER, since=SINCE, lease_ms=600_000, renews=None)
    with closing(project.connect()) as cluster:
        cluster.registry.append([claim])
    return (*LOCKED[request.param], "-c", "local", "--lock-timeout")


def stop_halfway(project: Project) -> None:
    gate = project.folder / "gate"
    apply = PausedApply(gate, "apply", project.folder, "--auto-approve", "--parallelism", 1)
    try:
        apply.interrupt(signal.SIGTERM)
        assert apply.open()[0] == 143
    finally:
        apply.stop()


def contents(project: Project) -> tuple[object, object]:
    """All that a command could have changed; claims on the lock come and go."""
    with closing(project.connect()) as cluster:
        entries = cluster.registry.scan() or ()
    return project.records(), [e for e in entries if not e.key.startswith("lock/")]


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a command has slept, by a clock that doesn't keep anybody waiting."""
    slept: list[float] = []
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: slept.append(seconds))
    monkeypatch.setattr(SystemClock, "monotonic", lambda _: time.monotonic() + sum(slept))
    return slept


def test_each_gives_up_when_the_time_is_over(
    words: tuple[str, ...], project: Project, kgitops: Kgitops, naps: list[float]
) -> None:
    before = contents(project)
    for limit, waits in (("0s", 0), ("30s", 1)):
        ran = kgitops(*words, limit)
        assert (ran.code, bool(naps)) == (7, bool(waits)), ran
        assert ran.err.count(f"waiting up to 30s for the lock that {HOLDER} has held") == waits
        said = ran.err + ran.out
        assert f"the cluster is locked by {HOLDER} since {SINCE}; try again when that run" in said
        assert "wait for it with --lock-timeout 10m (its lease ends at 20" in said
        assert contents(project) == before
    assert sum(naps) <= 30


def test_each_goes_on_when_the_lock_is_released(
    words: tuple[str, ...], project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(project)
    released: list[float] = []

    def release(_: SystemClock, seconds: float) -> None:
        released.append(seconds)
        with closing(project.connect()) as cluster:
            cluster.registry.append([(KEY, None)])

    monkeypatch.setattr(SystemClock, "sleep", release)
    ran = kgitops(*words, "1h")
    assert (ran.code, len(released)) == (0, 1), ran
    assert ran.err.count(f"waiting up to 1h for the lock that {HOLDER} has held") == 1, ran
    assert contents(project) != before
