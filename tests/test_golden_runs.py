"""Runs, plans, stores and fleets of older commits are resumed, applied and read by this version.

``tests/golden_files/README.md`` says how the archives in ``tests/golden_files/runs`` were recorded.
"""

import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Kgitops, here, kgitops
from cli.projects import metadata_log
from kinds.samples import ADDRESSES, NO_OBJECTS, WORD
from msgspec import Struct

from kgitops.apply.journal.reading import known_projects, latest_values, unfinished_runs
from kgitops.apply.steps import RecordedOutcome, Run
from kgitops.cluster.connect import connect
from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.fleet.output.slices import read_slice
from kgitops.fleet.planning import plan_of_unit
from kgitops.fleet.units.unit import RowFiles, StateFiles, StateFormat, Unit
from kgitops.manifests.kind_models import KINDS
from kgitops.model.clock import SystemClock
from kgitops.model.registry import Json
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.file import read_sealed_plan, to_text

__all__ = ["here", "kgitops"]

RUNS = Path(__file__).parent / "golden_files" / "runs"
FIRST = frozenset(
    {
        "Acl",
        "ClientMetrics",
        "ClientQuota",
        "ConsumerGroup",
        "Topic",
        "TopicLink",
        "User",
        "VirtualCluster",
        "VirtualClusterBinding",
    }
)
RECORDED: Mapping[str, frozenset[str]] = {
    "f6d932d3": FIRST,
    "e45026a3": FIRST,
    "d565f152": frozenset({"BrokerConfig"}),
}
"""The commits that wrote the archives, and the kinds of object in them."""
FLEETS = ("f6d932d3", "e45026a3")
"""Those that wrote a fleet, too."""
NOT_RECORDED: Mapping[str, str] = {}
"""The kinds that no archive has, and the reason."""
SOME = 7
"""Of so many killed runs one is resumed by default; a prime, so that no kind loses all."""
CLUSTERS = {"native": "", "lowered": "?virtual.clusters=lowered"}
STAGES = ("create", "update", "delete")
ALLOWED = ("--auto-approve", "--allow-secret-commands", "--allow-plaintext-secrets")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
REFUSED_PLANS: Mapping[tuple[str, str], str] = {
    ("f6d932d3", "update"): "impact of topic/cut does not follow from its requests",
    ("f6d932d3", "delete"): (
        "the reason of group/not-there-yet is not the one that follows from its records"
    ),
    ("e45026a3", "update"): "the risks of topic/orders are not those that follow from its requests",
    ("e45026a3", "delete"): (
        "the reason of vc/emea/client/batch2 is not the one that follows from its records"
    ),
}
"""By version and stage: what this version finds in a plan whose words it would choose otherwise.

``docs/guides/upgrading.md`` promises the refusal, and that a new plan is the way out.
"""

each_version = pytest.mark.parametrize("version", RECORDED)
each_cluster = pytest.mark.parametrize("cluster", CLUSTERS)
each_stage = pytest.mark.parametrize("stage", STAGES)


class Recorded(Struct, frozen=True):
    """One stage of a version's recording: its members by name, as bytes."""

    version: str
    cluster: str
    stage: str

    def write(self, store: str, folder: Path) -> Path:
        """Write the project into the folder, with this store, and return the project."""
        files = members(self.version, self.cluster)
        for name, content in files.items():
            for begin in (f"{self.stage}/payments/", f"{self.stage}/{store}.files/"):
                if name.startswith(begin):
                    write(folder / "payments" / name.removeprefix(begin), content)
        write(folder / "payments/.kgitops/local.db", files[f"{self.stage}/{store}.db"])
        write(folder / "plan.json", files[f"{self.stage}/plan.json"])
        return folder / "payments"


@cache
def members(version: str, cluster: str) -> Mapping[str, bytes]:
    """The files of an archive, by name."""
    with tarfile.open(RUNS / version / f"{cluster}.tar.xz") as archive:
        files = {it.name: archive.extractfile(it) for it in archive if it.isfile()}
        return {name: file.read() for name, file in files.items() if file}


def write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o600)


def killed_runs() -> Iterator[Any]:
    """Each of them; one of so many by default."""
    killed = (
        (version, cluster, *name.removesuffix(".db").split("/"))
        for version in RECORDED
        for cluster in CLUSTERS
        for name in members(version, cluster)
        if name.endswith(".db") and name.split("/")[-1].startswith(("before-", "after-"))
    )
    for number, run in enumerate(killed):
        yield pytest.param(*run, marks=[pytest.mark.slow] if number % SOME else [])


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORD, "a password of some length")


@pytest.mark.parametrize(("version", "cluster", "stage", "killed"), [*killed_runs()])
def test_a_killed_run_is_resumed(
    here: Path, kgitops: Kgitops, version: str, cluster: str, stage: str, killed: str
) -> None:
    recorded = Recorded(version, cluster, stage)
    project = recorded.write(killed, here)
    (run,) = unfinished(project, cluster)
    assert RecordedOutcome.OPEN in {step.outcome for step in run.steps.values()}
    resumed = kgitops("apply", "--resume", project, *ALLOWED)
    assert resumed.code == 0, resumed.said
    check_ended(recorded, project, kgitops)


@each_version
@each_cluster
@each_stage
def test_a_sealed_plan_is_applied_while_it_holds_or_refused_as_promised(
    here: Path,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    cluster: str,
    stage: str,
) -> None:
    recorded = Recorded(version, cluster, stage)
    project = recorded.write("begun", here)
    text = (here / "plan.json").read_text()
    assert to_text(read_sealed_plan(text, "plan.json")) == text
    created = read_sealed_plan(text, "plan.json").created
    monkeypatch.setattr(SystemClock, "now", lambda _: created + timedelta(days=1, seconds=1))
    expired = kgitops("apply", "plan.json", *ALLOWED)
    assert expired.code == ExitCode.UNTRUSTED, expired.said
    behind = datetime.now(UTC) - created
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) - behind)
    store = project / ".kgitops/local.db"
    before = metadata_log(store)
    applied = kgitops("apply", "plan.json", *ALLOWED)
    if problem := REFUSED_PLANS.get((version, stage)):
        assert applied.code == ExitCode.UNTRUSTED
        assert (
            f"plan.json shows something else than this kgitops derives from it: {problem}; make a "
            "new plan. If no other build of kgitops made this one, find out who changed it"
        ) in applied.said
        assert metadata_log(store) == before
        monkeypatch.undo()
        monkeypatch.chdir(here)
        monkeypatch.setenv(WORD, "a password of some length")
        assert kgitops("plan", project, "-o", "plan.json").code == 0
        applied = kgitops("apply", "plan.json", *ALLOWED)
    assert applied.code == 0, applied.said
    check_ended(recorded, project, kgitops)


@each_version
@each_cluster
@each_stage
def test_a_finished_run_s_store_registry_and_snapshot_are_read(
    here: Path, kgitops: Kgitops, version: str, cluster: str, stage: str
) -> None:
    recorded = Recorded(version, cluster, stage)
    project = recorded.write("ended", here)
    check_ended(recorded, project, kgitops)
    text = members(version, cluster)[f"{stage}/snapshot.json"].decode()
    assert write_snapshot(read_snapshot(text, "snapshot.json")) == text
    checked = kgitops("registry", "check", project)
    assert checked.code == 0, checked.said


@pytest.mark.parametrize("version", FLEETS)
@each_cluster
def test_the_tables_of_a_fleet_are_planned_as_they_were(
    here: Path, kgitops: Kgitops, version: str, cluster: str
) -> None:
    for name, content in members(version, cluster).items():
        if name.startswith("fleet/"):
            write(here / name, content)
    ran = kgitops("fleet", "summary", "fleet/run", "--format", "json")
    assert ran.code == 0, ran.said
    before = plan_to_json(read_slice(here / "fleet" / "run", "local").plan)
    rows = tuple(sorted((here / "fleet" / "desired").glob("*/*/*.parquet")))
    states = tuple((here / "fleet" / "states").glob("*/*.parquet"))
    unit = Unit(
        cluster="local",
        project="payments",
        state=StateFiles(form=StateFormat.PARQUET, files=states),
        desired=RowFiles(files=rows, project="payments"),
    )
    again = plan_to_json(plan_of_unit(unit, {}).plan)
    assert len(before["changes"]) > 20
    assert again["changes"] == before["changes"]


@each_cluster
@pytest.mark.parametrize(
    ("version", "kind"),
    [(version, kind) for version, kinds in RECORDED.items() for kind in sorted(kinds)],
)
def test_a_version_s_runs_have_its_kinds(version: str, cluster: str, kind: str) -> None:
    for stage in STAGES[::2]:
        plan = json.loads(members(version, cluster)[f"{stage}/plan.json"])
        planned = {change["address"] for change in plan["changes"]}
        assert planned & set(ADDRESSES[kind]), f"record {stage} of {kind}, or say why there is none"


def test_every_kind_has_a_run_or_a_reason() -> None:
    recorded = frozenset().union(*RECORDED.values())
    assert recorded | NOT_RECORDED.keys() == KINDS.keys() - NO_OBJECTS.keys()


def unfinished(project: Path, cluster: str) -> Sequence[Run]:
    """The project's unfinished runs."""
    url = f"embedded:.kgitops/local.db{CLUSTERS[cluster]}"
    with closing(connect(url, brokers=3, base=project)) as connected:
        latest = latest_values(connected.registry.read() or ())
        return unfinished_runs(latest, set(known_projects(latest).projects))


def check_ended(recorded: Recorded, project: Path, kgitops: Kgitops) -> None:
    """Check that the run is closed, and that all is there as the older version left it."""
    assert not unfinished(project, recorded.cluster)
    planned = kgitops("plan", project, "--detailed-exitcode")
    assert planned.code == 0, planned.said
    assert "No changes." in planned.out
    taken = kgitops("snapshot", project, "--users", "-o", "state.json")
    assert taken.code == 0, taken.said
    before = members(recorded.version, recorded.cluster)[f"{recorded.stage}/snapshot.json"]
    assert objects(Path("state.json").read_bytes()) == objects(before)


def objects(snapshot: bytes) -> Json:
    """A snapshot with its owners and without times and what each run draws anew: ids of topics."""
    state = json.loads(_UUID.sub("UUID", snapshot.decode()))
    del state["captured_at"]
    registry = state.pop("registry")
    return in_order(without_ids([state, registry["owners"], registry["projects"]]))


def without_ids(content: Json) -> Json:
    match content:
        case dict():
            return {key: without_ids(it) for key, it in content.items() if key != "topic_id"}
        case list():
            return [without_ids(it) for it in content]
        case _:
            return content


def in_order(content: Json) -> Json:
    """The same with every list of objects in one order."""
    match content:
        case dict():
            return {key: in_order(it) for key, it in content.items()}
        case list() if content and all(isinstance(it, dict) for it in content):
            return sorted(map(in_order, content), key=json.dumps)
        case list():
            return [in_order(it) for it in content]
        case _:
            return content
