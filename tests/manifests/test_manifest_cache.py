"""A library of parsed files changes no answer, and knows each file that changed."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from manifests.loading import acl, build, quota, tombstone, topic, write

from kgitops.desired.state import DesiredState
from kgitops.manifests import reading as cache_module
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.manifests.project_file import ProjectFile, load_project
from kgitops.manifests.reading import ManifestCache
from kgitops.manifests.yaml.parse import parse
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding

LARGE = 10_000_000
CLUSTERS = ("dev", "prod", "kafka:x")
HERE = topic("here").replace("here}", "here, clusters: [dev]}")
FILES = {
    "plain.yaml": topic("a") + "---\n" + topic("b"),
    "here.yaml": HERE,
    "var.yaml": topic('"${var:name}"'),
    "no-var.yaml": topic("c", "{partitions: ${var:none}, replicationFactor: 1}"),
    "elsewhere.yaml": HERE.replace("partitions: 1", "partitions: ${var:only-dev}"),
    "env.yaml": topic("d", '{partitions: 1, replicationFactor: 1, configs: {x: "${env:S}"}}'),
    "typing.yaml": topic("e", "{partitons: 1}") + "---\n" + topic("e"),
    "kind.yaml": "apiVersion: kgitops/v1\nkind: Topik\n---\n[1, 2]\n---\n" + topic("f"),
    "version.yaml": "apiVersion: v1\nkind: Topic\n",
    "syntax.yaml": topic("g") + "---\na: b: c\n---\n" + topic("h") + "---\n}\n",
    "twice.yaml": "a: 1\na: 2\n---\n" + topic("a"),
    "tabs.yaml": "a:\n\tb: 1\n",
    "nothing.yaml": "# nothing\n",
    "empty.yaml": "",
    "bytes.yaml": "\udcff",
    "unknown-cluster.yaml": HERE.replace("[dev]", "[dve, 1, '${var:name}']"),
    "acl.yaml": acl(
        "principal: User:x\npermission: Allow\noperations: [Read]\nresource: {type: topic, name: a}"
    ),
    "quota.yaml": quota("{user: x}", "{consumer_byte_rate: 1}"),
    "stone.yaml": tombstone("{address: topic/gone}"),
    "policy.yaml": (
        "apiVersion: kgitops/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n"
        "  match: {requests: [CreateTopic]}\n"
        "  validations: [{expression: 'false', message: \"${var:name}\"}]\n"
    ),
    "anchor.yaml": topic("i", "&x {partitions: 1, replicationFactor: 1, more: *x}"),
}


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A while after the files were written."""
    now = cache_module.time.time_ns
    monkeypatch.setattr(cache_module.time, "time_ns", lambda: now() + 10_000_000_000)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files, each time one is parsed."""
    names: list[str] = []

    def parsing(file, findings):  # type: ignore[no-untyped-def]
        names.append(Path(file.name).name)
        return parse(file, findings)

    monkeypatch.setattr(cache_module, "parse", parsing)
    return names


def load(folder: Path, cache: ManifestCache, cluster: str = "dev", *only: str) -> ManifestSet:
    cache.next_cluster()
    variables = {"name": f"of-{cluster}"} | ({"only-dev": "2"} if cluster == "dev" else {})
    return load_manifests(
        [folder],
        cluster=cluster,
        variables=variables,
        env={"S": "secret"},
        known_clusters=CLUSTERS,
        only=only,
        cache=cache,
    )


def answer(manifests: ManifestSet) -> tuple[object, ...]:
    """All that is said and declared, each with its place."""
    said: DesiredState | tuple[Finding, ...]
    try:
        said = build(manifests)
    except FindingsError as error:
        said = error.findings
    sets = (manifests.manifests, manifests.other_clusters)
    return (
        said,
        [[(item.declares, item.document.source) for item in items] for items in sets],
        manifests.other_addresses,
        [document.source for document in manifests.unknown],
        manifests.findings,
        manifests.env_values,
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("room", [LARGE, 300])
def test_answers_are_the_same_with_and_without(tmp_path: Path, seed: int, room: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (the same each time)
    names = list(FILES) if seed == 0 else chance.sample(sorted(FILES), 6)
    write(tmp_path, {name: FILES[name].encode("utf-8", "surrogateescape") for name in names})
    cache = ManifestCache(room)
    for _ in range(8):
        cluster, only = chance.choice(CLUSTERS), chance.choice([(), (), ("Policy", "Waiver")])
        remembered = load(tmp_path, cache, cluster, *only)
        assert answer(remembered) == answer(load(tmp_path, ManifestCache(), cluster, *only))


def test_a_file_is_parsed_once_for_all_clusters(tmp_path: Path, parsed: list[str]) -> None:
    write(tmp_path, {"a.yaml": FILES["plain.yaml"], "b.yaml": FILES["var.yaml"]})
    cache = ManifestCache(LARGE)
    for cluster in CLUSTERS:
        assert len(load(tmp_path, cache, cluster).manifests) == 3
    assert parsed == ["a.yaml", "b.yaml"]


def test_what_depends_on_the_cluster_is_not_remembered(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FILES["var.yaml"], "b.yaml": FILES["here.yaml"]})
    cache = ManifestCache(LARGE)
    named = [
        [item.declares.metadata.name for item in load(tmp_path, cache, cluster).manifests]
        for cluster in ("dev", "prod", "dev")
    ]
    assert named == [["of-dev", "here"], ["of-prod"], ["of-dev", "here"]]


def written_over(path: Path) -> None:
    path.write_text(topic("b"))


def replaced(path: Path) -> None:
    path.with_suffix(".new").write_text(topic("b"))
    path.with_suffix(".new").replace(path)


def linked(path: Path) -> None:
    path.with_suffix(".other").write_text(topic("b"))
    path.unlink()
    path.symlink_to(path.with_suffix(".other"))


@pytest.mark.parametrize("change", [written_over, replaced, linked])
def test_a_file_that_changed_is_read_again(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Even where size and time of change are as before."""
    write(tmp_path, {"a.yaml": topic("a")})
    path = tmp_path / "a.yaml"
    before, cache = path.stat(), ManifestCache(LARGE)
    assert [item.declares.metadata.name for item in load(tmp_path, cache).manifests] == ["a"]
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert [item.declares.metadata.name for item in load(tmp_path, cache).manifests] == ["b"]


def test_a_file_that_just_changed_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: list[str]
) -> None:
    """It may change once more in the same tick of the clock that marks it."""
    write(tmp_path, {"a.yaml": topic("a")})
    changed = (tmp_path / "a.yaml").stat().st_ctime_ns
    monkeypatch.setattr(cache_module.time, "time_ns", lambda: changed + 1_000_000)
    cache = ManifestCache(LARGE)
    for _ in range(2):
        load(tmp_path, cache)
    assert parsed == ["a.yaml"] * 2


def test_a_pipe_is_read_each_time(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    cache = ManifestCache(LARGE)
    for name in ("a", "b"):
        writing = threading.Thread(target=pipe.write_text, args=[topic(name)])
        writing.start()
        manifests = load_manifests([pipe], cluster="x", variables={}, env={}, cache=cache)
        writing.join()
        assert [item.declares.metadata.name for item in manifests.manifests] == [name]


def test_a_file_that_is_gone_is_gone(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": topic("a"), "b.yaml": topic("b")})
    cache = ManifestCache(LARGE)
    load(tmp_path, cache)
    (tmp_path / "a.yaml").unlink()
    assert [item.declares.metadata.name for item in load(tmp_path, cache).manifests] == ["b"]


def folders(tmp_path: Path) -> Iterator[Path]:
    for name in ("one", "two"):
        write(
            tmp_path / name, {f"{name}-{number}.yaml": topic(f"t{number}") for number in range(4)}
        )
        yield tmp_path / name


def test_a_project_that_is_too_large_is_remembered_as_far_as_it_fits(
    tmp_path: Path, parsed: list[str]
) -> None:
    """Read in the same order each time, it would else push out each file before its next use."""
    one, _ = folders(tmp_path)
    cache = ManifestCache(int(len(topic("t0")) * 2.5))
    for _ in range(4):
        load(one, cache)
    assert sorted(parsed) == sorted(
        [f"one-{n}.yaml" for n in range(4)] + ["one-2.yaml", "one-3.yaml"] * 3
    )


def test_what_is_not_used_any_more_makes_room(tmp_path: Path, parsed: list[str]) -> None:
    one, two = folders(tmp_path)
    cache = ManifestCache(len(topic("t0")) * 4)
    load(one, cache)
    for _ in range(4):
        load(two, cache)
    assert parsed[:4] == [f"one-{n}.yaml" for n in range(4)]
    assert parsed[4:] == [f"two-{n}.yaml" for n in range(4)] * 2, "the third time all are there"


def test_a_file_that_is_too_large_for_all_the_room_leaves_the_rest(
    tmp_path: Path, parsed: list[str]
) -> None:
    write(tmp_path, {"a.yaml": topic("a"), "z.yaml": topic("z") + "#" * 5_000})
    cache = ManifestCache(1_000)
    for _ in range(3):
        load(tmp_path, cache)
    assert parsed.count("a.yaml") == 1
    assert parsed.count("z.yaml") == 3


def test_the_project_file_is_in_the_library_too(tmp_path: Path, parsed: list[str]) -> None:
    write(
        tmp_path,
        {
            "kgitops.yaml": "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: a}\n"
            'spec: {clusters: {dev: {url: "embedded:", variables: {v: "${env:V}"}}}}\n'
        },
    )
    cache = ManifestCache(LARGE)
    for value in ("1", "2"):
        file: ProjectFile = load_project(tmp_path, env={"V": value}, cache=cache)
        assert file.cluster("dev", env={"V": value})[0].variables == {"v": value}
    assert parsed == ["kgitops.yaml"]


def test_a_broken_project_file_is_said_each_time(tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": "a: 1\na: 2\n"})
    cache = ManifestCache(LARGE)
    said = []
    for shelf in (cache, cache, ManifestCache()):
        with pytest.raises(FindingsError) as caught:
            load_project(tmp_path, env={}, cache=shelf)
        said.append(str(caught.value))
    assert len(set(said)) == 1
