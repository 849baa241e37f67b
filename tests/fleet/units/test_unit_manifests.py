"""A unit's manifests say what ``kgitops plan PATH -c CLUSTER --snapshot`` says of them, to a word.

Units are loaded one after the other in one process, as an executor does, so that what is remembered
of files is used.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from builders import a_cluster
from manifests.loading import acl, topic, write

from kgitops.cli.main import main
from kgitops.cluster.snapshot import write_snapshot
from kgitops.fleet.compiling import CompileTask, FleetCompileOptions, compile_fleet, compile_task
from kgitops.fleet.diff.inputs import side_from_rows
from kgitops.fleet.planning import PlanTask, plan_of_unit, plan_task
from kgitops.fleet.snapshotting import (
    FleetSnapshotOptions,
    SnapshotTask,
    snapshot_specs,
    snapshot_task,
)
from kgitops.fleet.tables.desired_rows import open_desired
from kgitops.fleet.units import loading as manifests
from kgitops.fleet.units.discovery import find_units
from kgitops.fleet.units.loading import loaded_unit
from kgitops.fleet.units.unit import ManifestFiles, StateFiles, StateFormat, Unit
from kgitops.manifests import reading as cache_module
from kgitops.manifests.reading import ManifestCache
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.codec import encode
from kgitops.model.json.declared import DesiredTopic
from kgitops.plan.document.documents import plan_to_json
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTERS = ("dev", "prod", "test")
POLICY = (
    "apiVersion: kgitops/v1\nkind: Policy\nmetadata: {name: few}\nspec:\n  level: hard\n"
    '  match: {requests: [CreateTopic]}\n  validations:\n    - {expression: "%s", message: no}\n'
)
PROJECT = (
    "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: pay, uid: u}\nspec:\n  clusters:\n"
)
COUNTED = "\n  partitions: %s\n  replicationFactor: 1"
BROKEN: dict[str, Mapping[str, str]] = {
    "no yaml": {"a.yaml": topic() + "---\na: b: c\n---\n" + topic()},
    "a field": {"a.yaml": topic("a", "{partitons: 1, replicationFactor: x}")},
    "a kind": {"a.yaml": "apiVersion: kgitops/v1\nkind: Topik\n"},
    "twice": {"a.yaml": topic("a"), "b.yaml": topic("a")},
    "no variable": {"a.yaml": topic("a", '{partitions: "${var:none}", replicationFactor: 1}')},
    "no environment": {"a.yaml": topic('"${env:KGITOPS_NONE}"')},
    "a secret": {"a.yaml": topic('"${env:TOPIC_NAME}"')},
    "a variable of one": {"a.yaml": topic("a", COUNTED % "${var:n}")},
    "a flow": {"a.yaml": topic("a", "{partitions: ${var:n}, replicationFactor: 1}")},
    "a cluster": {"a.yaml": topic("a").replace("a}", "a, clusters: [deev]}")},
    "one cluster only": {
        "a.yaml": topic("a"),
        "b.yaml": topic("a", "{partitions: 2, replicationFactor: 1}").replace(
            "a}", "a, clusters: [prod]}"
        ),
    },
    "a config": {
        "a.yaml": topic("a", "{partitions: 1, replicationFactor: 1, configs: {retention: 1}}")
    },
    "a binding": {
        "a.yaml": acl("principal: billing\npermission: Allow\noperations: [Reed]\nresource: {}")
    },
    "nothing": {"a.yaml": "# nothing\n"},
    "empty": {"a.yaml": ""},
    "no files": {"readme.txt": "x"},
    "a policy": {"a.yaml": topic("a"), "p.yaml": POLICY % "requested.partitons > 3"},
    "a policy twice": {"a.yaml": topic("a"), "p.yaml": POLICY % "true", "q.yaml": POLICY % "1 +"},
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files count as old enough to be remembered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOPIC_NAME", "no topic can be called so!")
    now = cache_module.time.time_ns
    monkeypatch.setattr(cache_module.time, "time_ns", lambda: now() + 10_000_000_000)
    monkeypatch.setattr(manifests, "_CACHE", ManifestCache(1_000_000))
    for name in CLUSTERS:
        write(tmp_path, {f"states/{name}.json": write_snapshot(a_cluster())})
    return tmp_path


def project(files: Mapping[str, str]) -> Path:
    clusters = "".join(
        f'    {name}: {{url: "kafka://{name}:9092", variables: {{{variables}}}}}\n'
        for name, variables in zip(CLUSTERS, ("n: 1", "n: 3, m: 1", "m: 0"), strict=True)
    )
    write(Path("pay"), {f"manifests/{name}": text for name, text in files.items()})
    write(Path("pay"), {"kgitops.yaml": PROJECT + clusters})
    return Path("pay")


def units_of(*paths: Path, policies: tuple[Path, ...] = ()) -> list[Unit]:
    found = find_units(paths, [Path("states")], policies, os.environ)
    assert not found.findings
    return sorted(found.units, key=lambda unit: unit.cluster)


def said_by_unit(unit: Unit) -> str:
    try:
        plan_of_unit(unit, os.environ)
    except KgitopsError as error:
        return "\n".join(reason.sentence for reason in error.reasons)
    return ""


def said_by_plan(capsys: pytest.CaptureFixture[str], unit: Unit, *paths: Path) -> str:
    capsys.readouterr()
    snapshot = f"states/{unit.cluster}.json"
    words = [*map(str, paths), "-c", unit.cluster, "--snapshot", snapshot, "--format", "json"]
    main(["plan", *words])
    answer = json.loads(capsys.readouterr().out)
    reasons = [reason["sentence"] for reason in answer["verdict"]["reasons"]]
    return "\n".join(reasons) if "changes" not in answer else ""


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_said_as_plan_says_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project(BROKEN[name])
    units = units_of(folder)
    assert [unit.cluster for unit in units] == list(CLUSTERS)
    first = [said_by_unit(unit) for unit in units]
    assert [said_by_plan(capsys, unit, folder) for unit in units] == first
    assert [said_by_unit(unit) for unit in units] == first
    assert any(first) is (name != "nothing"), first
    assert os.environ["TOPIC_NAME"] not in "".join(first)


@pytest.mark.parametrize("name", ["no yaml", "a field", "twice", "empty", "no files"])
def test_loose_manifests_are_said_so_too(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("loose"), BROKEN[name])
    for unit in units_of(Path("loose")):
        said = said_by_unit(unit)
        assert "loose" in said
        assert said == said_by_plan(capsys, unit, Path("loose"))


def test_a_place_is_called_as_where_the_command_was_typed(here: Path) -> None:
    (unit, *_) = units_of(project(BROKEN["a field"]))
    assert said_by_unit(unit).startswith("pay/manifests/a.yaml:4:")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["environments", "quickstart", "shared-cluster", "virtual-clusters", "policies"]
)
def test_examples_are_declared_as_plan_declares_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On all of their clusters, twice: the second time nothing is parsed."""
    monkeypatch.chdir(EXAMPLES)
    homes = [file.parent for file in Path(name).rglob("kgitops.yaml")]
    assert homes
    for home in homes:
        workspace = open_workspace(Selection(paths=(home,), offline=True, environ=os.environ))
        for cluster in (workspace.known_clusters or ("local",)) * 2:
            selection = Selection(paths=(home,), cluster=cluster, offline=True, environ=os.environ)
            unit, at = bare_unit(cluster, home)
            with (
                loaded(open_workspace(selection)) as expected,
                loaded_unit(unit, at, os.environ) as declared,
            ):
                assert declared.desired == expected.desired
                assert declared.policies.bundle == expected.policies.bundle
                places = [item.located.source for item in declared.desired.objects]
                assert places == [item.located.source for item in expected.desired.objects]


def bare_unit(cluster: str, home: Path) -> tuple[Unit, ManifestFiles]:
    at = ManifestFiles(paths=(home,), here=Path.cwd())
    state = StateFiles(form=StateFormat.JSON, files=())
    return Unit(cluster=cluster, project="x", state=state, desired=at), at


@pytest.mark.slow
def test_a_unit_has_the_plan_that_plan_makes(capsys: pytest.CaptureFixture[str]) -> None:
    """The levels that policies have on a cluster, and its variables, included."""
    folder = project({"a.yaml": topic("a", COUNTED % "${var:n}"), "p.yaml": POLICY % "false"})
    text = (folder / "kgitops.yaml").read_text()
    levels = "{n: 9}, policyLevels: {few: advisory}"
    (folder / "kgitops.yaml").write_text(text.replace("{m: 0}", levels))
    exits = []
    for unit in units_of(folder):
        words = ["plan", "pay", "-c", unit.cluster, "--snapshot", f"states/{unit.cluster}.json"]
        main([*words, "-o", "x"])
        expected = json.loads(Path("x").read_text())
        plan = json.loads(canonical_text(plan_to_json(plan_of_unit(unit, os.environ).plan)))
        assert plan == {key: value for key, value in expected.items() if key in plan}
        exits.append(plan["verdict"]["exit"])
        assert len(plan["changes"]) == 1
    assert exits == [3, 3, 2]


def test_files_are_parsed_once_for_all_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project({"a.yaml": topic("a"), "b.yaml": BROKEN["a variable of one"]["a.yaml"]})
    units = units_of(folder)
    parsed: list[str] = []
    parse = cache_module.parse

    def parsing(file, findings):  # type: ignore[no-untyped-def]
        parsed.append(file.name)
        return parse(file, findings)

    monkeypatch.setattr(cache_module, "parse", parsing)
    for unit in units:
        said_by_unit(unit)
    assert sorted(parsed) == ["pay/kgitops.yaml", "pay/manifests/a.yaml", "pay/manifests/b.yaml"]


def test_the_environment_is_that_of_the_executor() -> None:
    folder = project({"a.yaml": topic('"${env:EXECUTORS_NAME}"')})
    (unit, *_) = units_of(folder)
    for name in ("orders", "refunds"):
        plan = plan_of_unit(unit, {"EXECUTORS_NAME": name}).plan
        assert [change.address for change in plan.changes] == [f"topic/{name}"]


def compiled(unit: Unit, out: Path) -> list[dict[str, object]]:
    spec = encode(CompileTask(unit=unit, out=str(out), here=str(Path.cwd())))
    answer: list[dict[str, object]] = json.loads(compile_task(spec.decode()))
    return answer


def test_rows_hold_what_is_declared_for_their_cluster(here: Path) -> None:
    folder = project({"a.yaml": topic("a", COUNTED % "${var:n:-5}")})
    counts = {}
    for unit in units_of(folder):
        out = here / f"{unit.cluster}.parquet"
        assert compiled(unit, out) == []
        with loaded_unit(unit, ManifestFiles(paths=(folder,)), os.environ) as declared:
            expected = declared.desired
        found = side_from_rows(open_desired((out,), "pay", unit.cluster)).whole()
        assert found.of(DesiredTopic) == expected.of(DesiredTopic)
        assert (found.project, found.digest) == (expected.project, expected.digest)
        counts[unit.cluster] = found.of(DesiredTopic)[0].partitions
    assert counts == {"dev": 1, "prod": 3, "test": 5}


@pytest.mark.parametrize("name", ["no yaml", "a field", "twice", "a variable of one", "a policy"])
def test_what_can_not_be_compiled_is_answered_and_no_rows_are_written(
    name: str, here: Path
) -> None:
    unit = units_of(project(BROKEN[name]))[2]
    answer = compiled(unit, here / "out.parquet")
    sentences = said_by_unit(unit).split("\n")
    assert len(answer) == len(sentences)
    assert all(row["problem"] in said for row, said in zip(answer, sentences, strict=True))
    assert not (here / "out.parquet").exists()


def test_an_executor_without_the_folder_says_so(here: Path) -> None:
    (unit, *_) = units_of(project({"a.yaml": topic("a")}))
    gone = f"{here}/gone"
    planning = PlanTask(unit=unit, out="/x", here=gone, created="2026-11-23T00:00:00Z")
    reading = SnapshotTask(cluster="dev", project="pay", out="/x", here=gone)
    tasks: list[tuple[Callable[[str], str], object]] = [
        (plan_task, planning),
        (compile_task, CompileTask(unit=unit, out="/x", here=gone)),
        (snapshot_task, reading),
    ]
    for task, spec in tasks:
        with pytest.raises(KgitopsError, match=r"an executor has no folder .*/gone: No such file"):
            task(encode(spec).decode())


WHOLE = "is not a whole project; give folders that hold a kgitops.yaml"
NOT_COMPILED: Mapping[str, tuple[list[str], Mapping[str, str], str]] = {
    "a_missing_project": (["pay", "payy"], {}, "payy does not exist; correct the path"),
    "loose_manifests": (["pay", "loose"], {"loose/a.yaml": topic("a")}, f"loose {WHOLE}"),
    "rows": (["rows", "pay"], {"rows/cluster=dev/part-0.parquet": "x"}, f"rows {WHOLE}"),
    "a_project_twice": (
        ["pay", "other"],
        {"other/kgitops.yaml": PROJECT + '    dev: {url: "kafka://dev:9092"}\n'},
        "two projects have the name pay: other/kgitops.yaml and pay/kgitops",
    ),
    "no_project_file": (
        ["bad", "pay"],
        {"bad/kgitops.yaml": "kind: Project\n"},
        "bad/kgitops.yaml:1:1: apiVersion is missing",
    ),
}


@pytest.mark.parametrize("name", NOT_COMPILED)
def test_nothing_is_compiled_where_it_can_not_be_meant(name: str) -> None:
    """That is known before any Spark starts, and what was compiled before stays."""
    project({"a.yaml": topic("a")})
    write(Path("out"), {"project=pay/cluster=dev/part-0.parquet": "from before"})
    projects, files, words = NOT_COMPILED[name]
    write(Path(), files)
    asked = FleetCompileOptions(projects=tuple(map(Path, projects)), out=Path("out"))
    with pytest.raises((FindingsError, UsageError), match=words):
        compile_fleet(asked)
    assert Path("out/project=pay/cluster=dev/part-0.parquet").read_text() == "from before"


def test_a_misspelt_project_is_no_fewer_clusters_to_read(here: Path) -> None:
    project({"a.yaml": topic("a")})
    asked = FleetSnapshotOptions(projects=(Path("pay"), Path("payy")), out=here / "out")
    with pytest.raises(UsageError, match="payy does not exist; correct the path"):
        snapshot_specs(asked)
