"""What meets what: every project on every cluster that it is for, once, and else a finding."""

import itertools
import os
import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from kgitops.fleet.units.discovery import FleetUnits, find_units
from kgitops.fleet.units.unit import ManifestFiles, RowFiles

TOPIC = (
    "apiVersion: kgitops/v1\nkind: Topic\nmetadata: {name: orders}\n"
    "spec: {partitions: 1, replicationFactor: 1}\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name: str, text: str = "not looked at") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def project(
    folder: str, *clusters: str, name: str = "", uid: str | None = None, spec: str = ""
) -> Path:
    """A project of one topic for these clusters; each cluster stands on a line from 5 on."""
    mark = f", uid: {json_text(uid)}" if uid else ""
    lines = "".join(f'    {json_text(cluster)}: {{url: "embedded:"}}\n' for cluster in clusters)
    put(
        f"{folder}/kgitops.yaml",
        f"apiVersion: kgitops/v1\nkind: Project\n"
        f"metadata: {{name: {json_text(name or folder)}{mark}}}\n"
        + (f"spec:\n  clusters:\n{lines}{spec}" if lines or spec else "spec: {}\n"),
    )
    put(f"{folder}/manifests/topics.yaml", TOPIC)
    return Path(folder)


def json_text(text: str) -> str:
    return f'"{text}"'


def states(*clusters: str) -> list[Path]:
    Path("states").mkdir(exist_ok=True)
    for cluster in clusters:
        put(f"states/{cluster}.json")
    return [Path("states")]


def find(
    desired: Sequence[Path | str],
    state: Sequence[Path],
    policies: Sequence[Path] = (),
    environ: Mapping[str, str] = {},
) -> FleetUnits:
    return find_units([Path(path) for path in desired], state, policies, environ)


def units(found: FleetUnits) -> list[tuple[str, str]]:
    return sorted((unit.cluster, unit.project) for unit in found.units)


def said(found: FleetUnits) -> list[str]:
    return [str(finding) for finding in found.findings]


def test_a_project_meets_the_states_of_its_clusters(here: Path) -> None:
    found = find([project("pay", "dev", "prod")], states("dev", "prod", "other"))
    assert units(found) == [("dev", "pay"), ("prod", "pay")]
    assert not found.findings
    assert found.unplanned == ("other",)
    (unit,) = [unit for unit in found.units if unit.cluster == "dev"]
    assert unit.desired == ManifestFiles(paths=(Path("pay"),), here=here)
    assert unit.state.files == (here / "states/dev.json",)


def test_a_cluster_without_a_state_is_a_finding_at_its_place_and_no_unit() -> None:
    found = find([project("pay", "dev", "prod")], states("dev"))
    assert units(found) == [("dev", "pay")]
    assert said(found) == [
        "pay/kgitops.yaml:7:5: there is no state of the cluster prod, which the project pay is "
        "for; save it with kgitops fleet snapshot"
    ]


def test_a_misspelt_state_is_found_near() -> None:
    (finding,) = said(find([project("pay", "production")], states("prodution")))
    assert "did you mean prodution, of which there is one?" in finding


def test_a_project_without_clusters_is_for_the_local_one_as_in_plan() -> None:
    assert units(find([project("pay")], states("local", "prod"))) == [("local", "pay")]
    (finding,) = said(find(["pay"], states("prod")[:0]))
    assert finding.startswith("there is no state of the cluster local, which the project pay is")


def test_loose_manifests_meet_every_state() -> None:
    put("topics/a.yaml", TOPIC)
    put("more.yaml", TOPIC)
    found = find(["topics", "more.yaml"], states("a", "b"))
    assert units(found) == [("a", "default"), ("b", "default")]
    assert {unit.desired for unit in found.units} == {
        ManifestFiles(paths=(Path("more.yaml"), Path("topics")), here=Path.cwd())
    }
    assert not found.findings
    assert not found.unplanned


def test_a_part_of_a_project_is_for_the_clusters_of_the_project() -> None:
    project("pay", "dev", "prod")
    found = find(["pay/manifests/topics.yaml"], states("dev", "other"))
    assert units(found) == [("dev", "pay")]
    assert found.unplanned == ("other",)
    assert [
        "pay/kgitops.yaml:7:5: there is no state of the cluster prod" in it for it in said(found)
    ]


def test_parts_of_different_projects_are_no_part_of_one() -> None:
    project("a", "dev")
    project("b", "dev")
    found = find(["a/manifests", "b/manifests"], states("dev"))
    assert not found.units
    assert said(found) == ["the paths belong to different projects; plan one project at a time"]


def test_a_whole_project_beside_a_part_of_it_is_said() -> None:
    found = find([project("pay", "dev"), "pay/manifests/topics.yaml"], states("dev"))
    assert not found.units
    assert said(found) == [
        "pay/manifests/topics.yaml is part of the project pay, which is given as a whole too; "
        "leave the part out"
    ]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({"name": "pay"}, {"name": "pay", "uid": "2"}, "two projects have the name pay"),
        ({"name": "x", "uid": "1"}, {"name": "y", "uid": "1"}, "two projects have the uid 1"),
        ({"name": "x", "uid": "y"}, {"name": "y"}, "two projects have the uid y"),
    ],
)
def test_two_projects_of_one_owner_are_planned_by_neither(
    one: dict[str, str], other: dict[str, str], words: str
) -> None:
    """Each would remove what the other declares."""
    paths = [project("a", "dev", **one), project("b", "dev", **other), project("c", "dev")]
    found = find(paths, states("dev", "prod"))
    assert units(found) == [("dev", "c")]
    assert said(found) == [
        f"{words}: a/kgitops.yaml and b/kgitops.yaml; give each project a name and a uid of its "
        "own, or leave one of them out"
    ]
    assert not found.unplanned, "who knows what those two are for"


def test_the_same_project_given_twice_is_one(here: Path) -> None:
    folder = project("pay", "dev")
    Path("link").symlink_to(folder)
    assert units(find([folder, here / "pay", "link", "./pay/"], states("dev"))) == [("dev", "pay")]


def test_an_unreadable_project_says_why_and_nothing_else_is_called_unplanned() -> None:
    put("bad/kgitops.yaml", "apiVersion: kgitops/v1\nkind: Projekt\n")
    found = find(["bad", project("pay", "dev")], states("dev", "prod"))
    assert units(found) == [("dev", "pay")]
    assert said(found) == [
        "bad/kgitops.yaml:2:7: kind must be a kind that kgitops knows, not 'Projekt'; did you mean "
        "Project?"
    ]
    assert not found.unplanned


def test_a_disputed_state_is_no_missing_state() -> None:
    put("more/dev.parquet")
    found = find([project("pay", "dev")], [*states("dev"), Path("more")])
    assert not found.units
    assert not found.unplanned
    assert len(found.findings) == 1
    assert "the state of the cluster dev is in more/dev.parquet and in" in said(found)[0]


def test_where_no_state_is_found_that_alone_is_said() -> None:
    found = find([project("pay", *(f"c{number}" for number in range(300)))], [Path("stats")])
    assert said(found) == ["stats does not exist; correct the path"]


@pytest.mark.parametrize(
    "part",
    [
        "project=pay/cluster=prod/part-0.parquet",
        "cluster=prod/project=pay/part-0.parquet",
        "cluster=prod/project=pay/part-1.parquet",
        "project=pay/prod.parquet",
    ],
)
def test_rows_say_whose_and_for_which_cluster_they_are(here: Path, part: str) -> None:
    put(f"rows/{part}")
    (unit,) = find(["rows"], states("prod")).units
    assert (unit.cluster, unit.project) == ("prod", "pay")
    assert unit.desired == RowFiles(files=(here / "rows" / part,), project="pay")


@pytest.mark.parametrize("part", ["cluster=prod/part-0.parquet", "prod.parquet"])
def test_rows_alone_on_their_cluster_need_no_project(part: str) -> None:
    put(f"rows/{part}")
    assert units(find(["rows"], states("prod"))) == [("prod", "desired")]
    assert units(find([f"rows/{part}"], states("prod"))) == [("prod", "desired")]


def test_rows_of_nobody_beside_others_may_be_of_the_same_project() -> None:
    put("rows/cluster=prod/part-0.parquet")
    found = find(["rows", project("pay", "prod", "dev")], states("prod", "dev"))
    assert units(found) == [("dev", "pay")]
    assert said(found) == [
        "rows/cluster=prod does not say whose the rows are, and the cluster prod has others; put "
        "each project's rows into a folder project=NAME"
    ]


def test_rows_and_manifests_of_one_project_are_planned_by_neither() -> None:
    put("rows/project=pay/cluster=prod/part-0.parquet")
    found = find(["rows", project("pay", "prod")], states("prod"))
    assert not found.units
    assert said(found) == [
        "what the project pay declares for the cluster prod is in pay/kgitops.yaml and in "
        "rows/project=pay/cluster=prod; give one of them only"
    ]


def test_rows_of_a_name_that_two_projects_bear_are_of_neither() -> None:
    put("rows/project=pay/cluster=prod/part-0.parquet")
    twins = [project("a", "dev", name="pay"), project("b", "dev", name="pay")]
    found = find([*twins, "rows"], states("dev", "prod"))
    assert not found.units
    assert len(found.findings) == 1


def test_rows_without_a_state_are_a_finding() -> None:
    put("rows/project=pay/cluster=prod/part-0.parquet")
    found = find(["rows"], states("dev"))
    assert not found.units
    assert said(found) == [
        "there is no state of the cluster prod, which the project pay is for "
        "(rows/project=pay/cluster=prod); save it with kgitops fleet snapshot"
    ]
    assert found.unplanned == ("dev",)


def test_something_else_among_rows_is_said() -> None:
    put("rows/project=pay/cluster=prod/part-0.parquet")
    put("rows/project=pay/cluster=prod/orders.yaml", TOPIC)
    found = find(["rows"], states("prod"))
    assert "rows/project=pay/cluster=prod holds orders.yaml next to .parquet" in said(found)[0]


def test_the_heaviest_unit_is_the_first() -> None:
    big, small = project("big", "dev", "prod"), project("small", "dev", "prod")
    put("big/manifests/more.yaml", "#" * 5_000)
    put("states/dev.json", "x" * 10)
    put("states/prod.json", "x" * 9_000)
    found = find([small, big], [Path("states")])
    assert [(unit.cluster, unit.project) for unit in found.units] == [
        ("prod", "big"),
        ("prod", "small"),
        ("dev", "big"),
        ("dev", "small"),
    ]


@pytest.mark.parametrize("name", ["a/b", "../up", ".x", "_x", "a b", "é" * 80, "CON\\x", "%"])
def test_a_unit_s_name_is_safe_in_a_file_s(name: str) -> None:
    shown = name.replace("\\", "\\\\")
    (unit,) = find([project("pay", "dev", name=shown)], states("dev")).units
    Path(f"plan-{unit.project}.json").touch()
    Path(unit.project).touch()
    assert unit.project.isascii()
    assert unit.project[0] not in "._"
    assert "/" not in unit.project


def test_names_that_a_file_system_may_take_for_one_are_told_apart() -> None:
    paths = [project("a", "dev", name="Pay"), project("b", "dev", name="pay")]
    assert units(find(paths, states("dev"))) == [("dev", "Pay"), ("dev", "pay-2")]


def test_each_unit_has_a_nonce_of_its_own() -> None:
    found = find([project("pay", "dev", "prod")], states("dev", "prod"))
    nonces = {unit.nonce for unit in (*found.units, *find(["pay"], states()).units)}
    assert len(nonces) == 4
    assert all(len(bytes.fromhex(nonce)) == 16 for nonce in nonces)


def test_policies_go_along_and_have_to_be_there() -> None:
    rules = [put("rules.yaml"), Path("ruls.yaml")]
    found = find([project("pay", "dev")], states("dev"), rules)
    assert [unit.policies for unit in found.units] == [tuple(rules)]
    assert said(found) == ["ruls.yaml does not exist; correct the path of --policies"]


def test_a_secret_of_a_cluster_is_not_asked_for(here: Path) -> None:
    """States stand in for clusters: whoever plans from them needs no password."""
    put("pay/manifests/topics.yaml", TOPIC)
    put(
        "pay/kgitops.yaml",
        "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: pay}\nspec:\n  clusters:\n"
        '    prod: {url: "kafka://b:9092", configs: {sasl.password: "${env:NO_SUCH}"}}\n',
    )
    assert units(find(["pay"], states("prod"))) == [("prod", "pay")]


def test_a_unit_names_the_commit_that_its_plan_will() -> None:
    folder = project("pay", "dev", "prod")
    git("init", "-q", ".")
    git("add", "pay")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    sha = git("rev-parse", "HEAD").strip()
    assert commits(find([folder], states("dev", "prod"))) == {(sha, False)}
    put("pay/manifests/topics.yaml", f"{TOPIC}# more\n")
    assert commits(find([folder], states("dev", "prod"))) == {(sha, True)}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def commits(found: FleetUnits) -> set[tuple[str | None, bool]]:
    manifests = [unit.desired for unit in found.units if isinstance(unit.desired, ManifestFiles)]
    return {(at.git_sha, at.dirty) for at in manifests}


def a_missing_path() -> str:
    return "payy"


def a_text() -> str:
    put("read.me")
    return "read.me"


def a_lost_link() -> str:
    Path("pay-link").symlink_to("nowhere")
    return "pay-link"


@pytest.mark.parametrize(
    ("make", "words"),
    [(a_missing_path, ["payy does not exist; correct the path"]), (a_text, []), (a_lost_link, [])],
)
def test_what_is_no_desired_path(make: Callable[[], str], words: list[str]) -> None:
    """Of a loose PATH each unit says what is wrong with it, as kgitops plan does."""
    found = find([make(), project("pay", "dev")], states("dev"))
    assert said(found) == words
    assert ("dev", "pay") in units(found)


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_paths_is_no_matter(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (the same each time)
    paths = [
        project("a", "c1", "c2", uid="1"),
        project("b", "c2", "c3"),
        project("c", "c4", name="b" if seed % 2 else "c"),
        project("d"),
        project("e", "c1", uid="1" if seed % 3 == 0 else "5"),
        put("loose/one.yaml", TOPIC),
        put("loose/two.yaml", TOPIC),
        put("rows/project=x/cluster=c1/part-0.parquet"),
        put("unnamed/c4.parquet"),
        put("unnamed/c9.parquet").parent,
        put("again/project=x/c1.parquet"),
        Path("missing"),
    ]
    all_states = [*states("c1", "c2", "c3"), put("more/c4.parquet"), put("z/cluster=c5/a.parquet")]
    all_states.append(put("twice/c3.parquet"))
    chosen = chance.sample(paths, chance.randint(1, len(paths)))
    given = chance.sample(all_states, chance.randint(1, len(all_states)))
    first = without_nonces(find(chosen, given))
    assert first.units or first.findings
    for _ in range(6):
        chance.shuffle(chosen)
        chance.shuffle(given)
        assert without_nonces(find(chosen, given)) == first
    assert len({(unit.cluster, unit.project) for unit in first.units}) == len(first.units)


def without_nonces(found: FleetUnits) -> FleetUnits:
    return replace(found, units=tuple(replace(unit, nonce="") for unit in found.units))


def test_every_state_is_planned_or_told_of() -> None:
    """Nothing vanishes: a state has a unit, or a finding says its cluster, or it is unplanned."""
    put("twice/c3.parquet")
    desired = [project("a", "c1"), project("b", "c2", "c6")]
    found = find(desired, [*states("c1", "c2", "c3", "c4"), Path("twice")])
    told = {unit.cluster for unit in found.units} | set(found.unplanned)
    told |= {name for name in ("c3", "c6") if any(f"cluster {name}" in it for it in said(found))}
    assert told == {"c1", "c2", "c3", "c4", "c6"}


def test_no_file_is_opened_but_project_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a driver holds does not grow with the objects."""
    put("rows/project=x/cluster=c1/part-0.parquet")
    desired = [project("a", "c1"), Path("rows")]
    state = states("c1")
    opened: list[str] = []
    read = Path.read_bytes

    def reading(path: Path) -> bytes:
        opened.append(os.path.relpath(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    assert len(find(desired, state).units) == 2
    assert set(opened) == {"a/kgitops.yaml"}


@pytest.mark.parametrize("size", [2, 3])
def test_a_project_s_clusters_do_not_depend_on_other_projects(size: int) -> None:
    paths = [project(name, "c1", "c2") for name in "abc"]
    state = states("c1", "c2")
    for chosen in itertools.combinations(paths, size):
        assert units(find(chosen, state)) == [
            (cluster, str(path)) for cluster in ("c1", "c2") for path in chosen
        ]
