"""``kgitops reconcile`` as it is typed: one turn, suspending, signals, wrong words."""

import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.processes import PausedApply
from cli.projects import EXAMPLES, Project, quota, topic
from other_processes import running

from kgitops.cli.reconcile.output import TurnPrinter
from kgitops.reconcile.events import ReconcileEvent

CONVERGE = {"mode": "converge"}


@pytest.fixture
def project(here: Path) -> Project:
    return Project(here / "payments").write(topic(), quota()).write_file(reconcile=CONVERGE)


def test_the_first_command_of_the_guide(here: Path, kgitops: Kgitops) -> None:
    """It observes: what would be done is told, and nothing is."""
    shutil.copytree(EXAMPLES / "quickstart", here / "examples" / "quickstart")
    row = "kgitops reconcile examples/quickstart --once"
    guide = (EXAMPLES.parent / "docs/guides/reconcile.md").read_text(encoding="utf-8")
    assert f"$ {row}\n" in guide
    ran = kgitops(*row.split()[1:])
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("quickstart on local (observe): changes wait\n")
    assert "waits: 13 create" in ran.out
    assert kgitops("plan", "examples/quickstart", "--detailed-exitcode").code == 2


def test_one_turn_applies_what_is_safe(project: Project, kgitops: Kgitops) -> None:
    words = ("reconcile", project.folder, "--once", "--plans", "plans")
    ran = kgitops(*words)
    assert ran.code == 0, ran.said
    assert "applied: 1 create" in ran.out
    assert "waits: 1 create (1 disruptive)" in ran.out
    assert kgitops(*words, "--detailed-exitcode").code == 2
    (waiting,) = Path("plans").rglob("*.json")
    digest = json.loads(waiting.read_text())["plan_digest"]
    assert f"kgitops apply {waiting} --expect-digest {digest}" in ran.out


def test_json_has_a_line_for_each_turn_and_event(project: Project, kgitops: Kgitops) -> None:
    out = kgitops("reconcile", project.folder, "--once", "--format", "json").out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("kind", line["type"]) for line in lines] == ["turn", "applied", "pending"]
    assert lines[0]["outcome"] == "pending"
    assert lines[2]["plan_digest"] == lines[0]["pending"]["digest"]


def test_once_ends_when_all_is_told(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes: what is not told by then never is."""
    tell = TurnPrinter.event

    def slowly(printer: TurnPrinter, event: ReconcileEvent) -> None:
        time.sleep(0.3)
        tell(printer, event)

    monkeypatch.setattr(TurnPrinter, "event", slowly)
    out = kgitops("reconcile", project.folder, "--once", "--format", "json").out
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["turn", "event", "event"]


def test_several_projects_and_clusters_take_a_turn_each(here: Path, kgitops: Kgitops) -> None:
    for name in ("a", "b"):
        Project(here / name, name=name, uid=f"uid-{name}").write(topic(name)).write_file(
            reconcile=CONVERGE
        )
    urls = [word for name in ("one", "two") for word in ("-c", f"embedded:{name}.db?brokers=3")]
    ran = kgitops("reconcile", "a", "b", *urls, "--once")
    assert ran.code == 0, ran.said
    assert ran.out.count("as declared now") == 4
    for name in ("one", "two"):
        snapshot = kgitops("snapshot", "-c", f"embedded:{name}.db", "-o", f"{name}.json")
        assert snapshot.code == 0, snapshot.said
        assert {found["name"] for found in json.loads(Path(f"{name}.json").read_text())["topics"]}


def test_suspending_is_kept_on_the_cluster(project: Project, kgitops: Kgitops) -> None:
    suspend = ("reconcile", "suspend", project.folder)
    assert kgitops(*suspend, "--reason", "we move brokers", "--until", "2h").code == 0
    ran = kgitops("reconcile", project.folder, "--once")
    assert (ran.code, "suspended this project" in ran.out) == (0, True)
    assert ": we move brokers" in ran.out
    assert "topic" not in str(project.records())
    assert kgitops("plan", project.folder).code == 0, "a person may"
    assert kgitops("registry", "check", project.folder).code == 0
    assert kgitops("reconcile", "resume", project.folder).code == 0
    assert "applied: 1 create" in kgitops("reconcile", project.folder, "--once").out
    again = kgitops("reconcile", "resume", project.folder)
    assert (again.code, again.err) == (0, "It was not suspended on local.\n")


def test_every_project_on_the_cluster_is_suspended(project: Project, kgitops: Kgitops) -> None:
    words = ("reconcile", "suspend", project.folder, "--reason", "an incident", "--all-projects")
    assert kgitops(*words).code == 0
    assert "suspended every project" in kgitops("reconcile", project.folder, "--once").out
    resume = ("reconcile", "resume", project.folder)
    assert "was not suspended" in kgitops(*resume).err, "it ends as it began: for every project"
    assert kgitops(*resume, "--all-projects").code == 0
    assert "applied" in kgitops("reconcile", project.folder, "--once").out


def test_the_exit_code_is_that_of_what_stops_it(project: Project, kgitops: Kgitops) -> None:
    project.write(topic("bad name")).write_file(reconcile=CONVERGE)
    ran = kgitops("reconcile", project.folder, "--once")
    assert ran.code == 1
    assert "manifests/all.yaml" in ran.err
    policies = [{"class": "kgitops.policies:PartitionRange", "configs": {"max": 2}}]
    project.write(topic(), topic("small", partitions=1)).write_file(
        reconcile=CONVERGE, policies=policies
    )
    first = kgitops("reconcile", project.folder, "--once")
    assert first.code == 6, "one topic was made, and one is denied"
    assert kgitops("reconcile", project.folder, "--once").code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--once"], "nowhere is not a folder"),
        (["suspend", "payments"], "suspend needs a reason"),
        (["resume", "payments", "--reason", "x"], "are for suspend"),
        (["payments", "--once", "--reason", "x"], "are for reconcile suspend"),
        (["suspend", "payments", "--reason", "x", "--until", "soon"], "'soon' is not a time"),
        (["suspend", "payments", "--reason", "x", "--until", "2020-01-01T00:00:00Z"], "is past"),
        (["payments", "--interval", "often"], "'often' is not a time"),
        (["payments", "--once", "--allowed-signers", "keys"], "--allowed-signers is for --git"),
        (["payments", "--git", "https://example.com/a/b", "--once"], "as --path, not as PATH"),
        (["payments", "--once", "-c", "nope"], "has no cluster 'nope'"),
    ],
)
def test_wrong_words(words: list[str], said: str, project: Project, kgitops: Kgitops) -> None:
    ran = kgitops("reconcile", *words)
    assert ran.code == 64, ran.said
    assert said in ran.err


def git(folder: Path, *words: object) -> None:
    """In a repository of this test's own, whoever runs it."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *who, *map(str, words)], check=True, capture_output=True)


def test_manifests_from_git_are_named_from_their_project(here: Path, kgitops: Kgitops) -> None:
    """Each commit is another copy: its place is in no plan, which so stays the same."""
    repository = here / "repository"
    made = Project(repository / "payments").write(topic()).write_file()
    git(here, "init", "-q", repository)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    words = ("reconcile", "--git", repository, "--path", "payments", "--once", "--plans", "plans")
    store = ("-c", "embedded:cluster.db?brokers=3")
    assert kgitops(*words, *store).code == 0
    (waiting,) = Path("plans").rglob("*.json")
    before = waiting.read_text()
    assert json.loads(before)["changes"][0]["source"]["file"] == "manifests/all.yaml"
    manifest = made.folder / "manifests" / "all.yaml"
    manifest.write_text("# a comment\n" + manifest.read_text())
    git(repository, "commit", "-q", "-am", "a comment above")
    assert kgitops(*words, *store).code == 0
    assert waiting.read_text() == before
    made.write(topic("bad name"))
    git(repository, "commit", "-q", "-am", "a mistake")
    ran = kgitops(*words, *store)
    assert (ran.code, ran.err.startswith("kgitops: manifests/all.yaml:6:")) == (1, True), ran.err


def test_a_loop_that_is_told_to_end_finishes_the_request_on_its_way(
    project: Project, here: Path, kgitops: Kgitops
) -> None:
    project.write(topic(), topic("second"), topic("third")).write_file(reconcile=CONVERGE)
    loop = PausedApply(here / "gate", "reconcile", project.folder, "--parallelism", "1")
    try:
        loop.interrupt(signal.SIGTERM)
        code, _, err = loop.open()
    finally:
        loop.stop()
    assert code == 143
    assert "finishing the request on its way" in err
    after = kgitops("apply", "--resume", "-c", "local")
    assert after.code in (0, 64), after.said
    assert kgitops("reconcile", project.folder, "--once").code == 0
    with closing(project.connect()) as cluster:
        assert set(cluster.read_state().topics) == {"orders", "second", "third"}
        keys = {entry.key for entry in cluster.registry.read() or () if entry.value}
        assert not [key for key in keys if key.startswith("lock/")]


def test_a_loop_ends_on_a_signal(project: Project) -> None:
    command = [sys.executable, "-m", "kgitops", "reconcile", project.folder, "--interval", "1s"]
    with running([*command, "--format", "json"], stdout=subprocess.PIPE, text=True) as loop:
        assert loop.stdout is not None
        turns = []
        while len(turns) < 2:
            line = json.loads(loop.stdout.readline())
            turns += [line] if line["type"] == "turn" else []
        loop.send_signal(signal.SIGTERM)
        assert loop.wait(timeout=60) == 143
    assert [turn["number"] for turn in turns] == [1, 2]
