"""``kgitops fleet plan`` as a user runs it: its result, its words, its exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, document, topic
from fleet.spark_archive import DRIVER, java_options
from patience import eventually

from kgitops.cli.running.parameters import repeat_options
from kgitops.fleet import auditing, compiling, pipeline
from kgitops.fleet.spark.session import Session
from kgitops.model.errors import UnreachableError

pytestmark = pytest.mark.spark
CLUSTERS = {name: {"url": f"embedded:{name}.db", "brokers": 3} for name in ("east", "west")}
PLAN = ("fleet", "plan", "--desired", "payments", "--state", "states", "--out", "night")
SMALL = document(
    "Policy",
    "small",
    description="Small topics are cheap.",
    level="hard",
    match={"requests": ["CreateTopic"]},
    validations=[{"expression": "requested.partitions < 3", "message": "it is too big"}],
)


@pytest.fixture
def shared(local_spark: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the session of this process instead of starting one each."""

    @contextmanager
    def started(*_: object, **__: object) -> Iterator[Session]:
        yield local_spark

    for module in (auditing, compiling, pipeline):
        monkeypatch.setattr(module, "session", started)


@pytest.fixture
def fleet(project: Project, kgitops: Kgitops, here: Path) -> Project:
    """A project for two clusters, of which one has what it declares, and both their states."""
    project.write(topic(), topic("audit"))
    project.write_file(clusters=CLUSTERS)
    assert kgitops("apply", project.folder, "-c", "west", "--auto-approve").code == 0
    (here / "states").mkdir()
    for name in CLUSTERS:
        save_state(kgitops, project, name)
    return project


@pytest.mark.usefixtures("shared")
def test_an_empty_folder_is_allowed_to_be_empty(fleet: Project, kgitops: Kgitops) -> None:
    fleet.write(topic("audit"))
    fleet.write_file(clusters=CLUSTERS)
    (fleet.folder / "manifests" / "team").mkdir()
    option = "pass --allow-empty-folder payments/manifests/team"
    assert kgitops(*PLAN).code == 5
    assert option in Path("night/fleet.json").read_text()
    assert kgitops(*PLAN, "--allow-empty-folder", "payments/manifests/team/").code == 5
    run = Path("night/fleet.json").read_text()
    assert option not in run
    assert "protected" in run


def save_state(kgitops: Kgitops, fleet: Project, name: str) -> None:
    assert kgitops("snapshot", fleet.folder, "-c", name, "-o", f"states/{name}.json").code == 0


def test_the_state_of_another_cluster_is_refused(
    fleet: Project, kgitops: Kgitops, shared: None
) -> None:
    """By the name of the state and the cluster's pin, compiled before or not."""
    pinned = {**CLUSTERS, "east": {**CLUSTERS["east"], "clusterId": "AAAAAAAAAAAAAAAAAAAAAA"}}
    fleet.write_file(clusters=pinned)
    ran = kgitops(*PLAN)
    assert "the cluster east: the snapshot is of the cluster" in ran.said, ran
    assert ran.code == 5
    assert changes(Path("night")) == []
    assert kgitops("fleet", "compile", "payments", "-o", "rows").code == 0
    again = kgitops("fleet", "plan", "--desired", "rows", "--state", "states", "--out", "again")
    assert (again.code, "clusterId is AAAAAAAAAAAAAAAAAAAAAA" in again.said) == (5, True), again
    audited = kgitops("fleet", "audit", "--desired", "payments", "--state", "states")
    assert "clusterId is AAAAAAAAAAAAAAAAAAAAAA" in audited.said, audited


def changes(out: Path) -> list[tuple[str, str]]:
    table = duckdb.read_parquet(f"{out}/changes/*/*.parquet", hive_partitioning=True)
    found: list[tuple[str, str]] = table.project("cluster, address").order("ALL").fetchall()
    return found


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.usefixtures("shared")
def test_from_a_fleet_to_an_apply_and_back(fleet: Project, kgitops: Kgitops, here: Path) -> None:
    ran = kgitops(*PLAN, "--detailed-exitcode")
    assert (ran.code, ran.err) == (2, "")
    assert changes(here / "night") == [("east", "topic/audit"), ("east", "topic/orders")]
    assert kgitops("fleet", "summary", "night").out == ran.out

    words = ("-c", "east", "--snapshot", "states/east.json", "--format", "json")
    alone = json.loads(kgitops("plan", "payments", *words).out)
    assert kgitops("fleet", "summary", "night", "-c", "east", "-o", "plan.json").code == 0
    plan = json.loads((here / "plan.json").read_text())
    for document_ in (alone, plan):
        del document_["envelope"], document_["plan_digest"], document_["lowering"]
    assert plan == alone

    assert kgitops("apply", "plan.json").code == 0
    save_state(kgitops, fleet, "east")
    again = kgitops(*PLAN, "--detailed-exitcode")
    assert (again.code, again.err) == (0, "")
    assert changes(here / "night") == []
    twice = kgitops("apply", "plan.json")
    assert twice.code == 9


@pytest.mark.usefixtures("shared", "fleet")
def test_a_cluster_that_can_not_be_read_does_not_keep_others_from_their_plans(
    kgitops: Kgitops, here: Path
) -> None:
    """Nor does it ever look empty: it has no plan, and the exit code says so."""
    state = here / "states" / "west.json"
    state.write_bytes(state.read_bytes()[:-200])
    ran = kgitops(*PLAN)
    assert ran.code == 8
    assert "states/west.json" in ran.said
    assert changes(here / "night") == [("east", "topic/audit"), ("east", "topic/orders")]
    assert kgitops("fleet", "summary", "night", "-c", "east").code == 0
    refused = kgitops("fleet", "summary", "night", "-c", "west", "-o", "plan.json")
    assert refused.code == 8
    assert "west/payments has no plan" in refused.err
    assert not (here / "plan.json").exists()


@pytest.mark.usefixtures("shared", "fleet")
def test_a_denied_plan_is_saved_and_exits_3(kgitops: Kgitops, here: Path) -> None:
    (here / "rules").mkdir()
    (here / "rules" / "small.yaml").write_text(as_yaml([SMALL]))
    ran = kgitops(*PLAN, "--policies", "rules", "--format", "json")
    assert ran.code == 3
    assert json.loads(ran.out)["verdict"]["exit"] == 3
    table = duckdb.read_parquet(f"{here}/night/violations/*/*.parquet", hive_partitioning=True)
    assert table.project("cluster, address, policy, outcome").order("ALL").fetchall() == [
        ("east", "topic/audit", "small", "denied"),
        ("east", "topic/orders", "small", "denied"),
    ]
    assert kgitops("fleet", "summary", "night", "-c", "east", "-o", "plan.json").code == 3
    assert kgitops("apply", "plan.json").code == 3


@pytest.mark.usefixtures("shared", "fleet")
def test_where_only_findings_are_found_there_is_a_result_of_them(
    fleet: Project, kgitops: Kgitops, here: Path
) -> None:
    fleet.write(topic(partitions=-1))
    fleet.write_file(clusters=CLUSTERS)
    ran = kgitops(*PLAN)
    assert ran.code == 1
    table = duckdb.read_parquet(f"{here}/night/findings/*/*.parquet", hive_partitioning=True)
    assert sorted(table.project("cluster, severity").fetchall()) == [
        ("east", "error"),
        ("west", "error"),
    ]
    assert changes(here / "night") == []


@pytest.mark.usefixtures("shared", "fleet")
def test_where_nothing_is_found_the_old_result_stays(kgitops: Kgitops, here: Path) -> None:
    assert kgitops(*PLAN).code == 0
    before = content(here / "night")
    (here / "none").mkdir()
    ran = kgitops("fleet", "plan", "--desired", "payments", "--state", "none", "--out", "night")
    assert (ran.code, ran.out) == (1, "")
    assert "none holds no state of a cluster" in ran.err
    assert content(here / "night") == before


def one_too_few(specs: list[str], answers: list[str]) -> list[str]:
    return answers[:-1]


def one_twice(specs: list[str], answers: list[str]) -> list[str]:
    return [answers[0]] * len(specs)


def none(specs: list[str], answers: list[str]) -> list[str]:
    raise UnreachableError("Spark on local[2] went away; run it again")


@pytest.mark.parametrize(("lose", "code"), [(one_too_few, 1), (one_twice, 1), (none, 8)])
@pytest.mark.usefixtures("shared", "fleet")
def test_an_answer_that_is_missing_leaves_the_old_result(
    lose: Callable[[list[str], list[str]], list[str]],
    code: int,
    kgitops: Kgitops,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fault injection: units are planned, and not every answer arrives."""
    assert kgitops(*PLAN).code == 0
    before = content(here / "night")
    real = pipeline.run_tasks

    def losing(spark: Session, specs: list[str], *more: object) -> list[str]:
        return lose(specs, list(real(spark, specs, *more)))  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "run_tasks", losing)
    ran = kgitops(*PLAN)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("kgitops: ")
    assert "run it again" in ran.err
    assert content(here / "night") == before
    assert not list(here.glob(".night.kgitops-run-*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--master", "http://x"), "is not a master of Spark"),
        (("--remote", "http://x"), "is not a server of Spark Connect"),
        (("--master", "local", "--remote", "sc://x"), "give one of them"),
        (("--conf", "spark.driver.memory"), "write KEY=VALUE"),
        (("--conf", "a=1", "--conf", "a=2"), "is given twice"),
        (("--format", "sarif"), "shows the plan of one cluster"),
        (("--out", "payments"), "is not a result of kgitops fleet plan"),
        (("--out", "no/such/folder"), "make it first"),
        (("--out", "."), "is the folder you are in"),
        (("--frmat", "json"), "did you mean --format "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.usefixtures("fleet")
def test_what_can_not_be_meant_exits_64_before_spark_starts(
    words: tuple[str, ...], said: str, kgitops: Kgitops, here: Path
) -> None:
    before = content(here)
    ran = kgitops(*PLAN, *words)
    assert (ran.code, ran.out) == (64, "")
    assert said in ran.said
    left = {name for name in content(here) if not name.endswith(".kgitops-lock")}
    assert left == set(before)


@pytest.mark.parametrize("lost", ["--desired", "--state", "--out"])
def test_what_must_be_given_is_asked_for(lost: str, kgitops: Kgitops) -> None:
    at = PLAN.index(lost)
    ran = kgitops(*PLAN[:at], *PLAN[at + 2 :])
    assert ran.code == 64
    assert lost in ran.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--state a b --full", "--state a --state b --full"),
        ("--state a --state b c -o d", "--state a --state b --state c -o d"),
        ("--out a b --desired c d", "--out a b --desired c --desired d"),
    ],
)
def test_paths_may_follow_one_another(typed: str, meant: str) -> None:
    """Contract §3: ``--desired PATH…``."""
    assert list(repeat_options(typed.split(), ("--state", "--desired"))) == meant.split()


@pytest.mark.usefixtures("shared", "fleet")
def test_several_paths_are_one_fleet(kgitops: Kgitops, here: Path) -> None:
    states = ("--state", "states/east.json", "states/west.json")
    assert kgitops("fleet", "plan", "--desired", "payments", *states, "--out", "night").code == 0
    summary = json.loads((here / "night" / "fleet.json").read_text())
    assert [unit["cluster"] for unit in summary["units"]] == ["east", "west"]


@pytest.mark.usefixtures("fleet")
def test_a_process_of_its_own_says_the_result_alone_and_heeds_interrupts(here: Path) -> None:
    """Nothing of Spark's on stdout or stderr; Ctrl-C leaves the old result, and nothing else."""
    spark = ["--master", "local[2]", "--conf", f"{DRIVER}={java_options()}"]
    command = [sys.executable, "-m", "kgitops", *PLAN, *spark, "--format", "json"]
    given = {"cwd": here, "env": {**os.environ, "PYTHONWARNINGS": "error"}, "text": True}
    done = subprocess.run(command, capture_output=True, timeout=180, check=False, **given)  # type: ignore[call-overload]
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kind"] == "kgitops.fleet-report"
    before = content(here / "night")

    process = subprocess.Popen(  # type: ignore[call-overload]
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given
    )

    def begun() -> list[Path]:
        assert process.poll() is None
        return [*here.glob(".night.kgitops-run-*")]

    eventually(begun, what="the run makes its folder")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err.count("\n") == 1
    assert content(here / "night") == before
    assert not list(here.glob(".night.kgitops-run-*"))
