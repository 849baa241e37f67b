"""A load that fails, in whatever way, never becomes a smaller desired state."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kgitops.cli.main import main
from kgitops.cluster.connect import connect
from kgitops.model.cluster_state import ClusterState

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: p, uid: 11111111-1111-4111-8111-111111111111}
spec:
  manifests: [manifests]
  clusters: {local: {url: "embedded:store.db"}}
"""
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: NAME}
spec: {partitions: 1, replicationFactor: 1, deletionPolicy: Delete}
"""
ACL = """\
apiVersion: kgitops/v1
kind: Acl
metadata: {name: readers}
spec:
  principal: User:a
  permission: Allow
  operations: [Read]
  resource: {type: topic, name: a, patternType: literal}
"""


def _text(text: str) -> Callable[[Path], None]:
    return lambda manifests: (manifests / "b.yaml").write_text(text) and None


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda manifests: (manifests / "b.yaml").write_bytes(data) and None


def _folder_in_its_place(manifests: Path) -> None:
    (manifests / "b.yaml").unlink()
    (manifests / "b.yaml").mkdir()


def _dangling_link(manifests: Path) -> None:
    (manifests / "b.yaml").unlink()
    (manifests / "b.yaml").symlink_to("nowhere.yaml")


def _endless_link(manifests: Path) -> None:
    (manifests / "b.yaml").unlink()
    (manifests / "b.yaml").symlink_to("b.yaml")


def _all_gone(manifests: Path) -> None:
    for file in manifests.iterdir():
        file.unlink()


def _folder_gone(manifests: Path) -> None:
    _all_gone(manifests)
    manifests.rmdir()


def _a_file_is_the_folder(manifests: Path) -> None:
    _folder_gone(manifests)
    manifests.write_text(TOPIC.replace("NAME", "a"))


def _pipe(manifests: Path) -> None:
    (manifests / "b.yaml").unlink()
    os.mkfifo(manifests / "b.yaml")


def _project(text: str) -> Callable[[Path], None]:
    return lambda manifests: (manifests.parent / "kgitops.yaml").write_text(text) and None


B = TOPIC.replace("NAME", "b")
FAULTS: dict[str, Callable[[Path], None]] = {
    "empty file": _text(""),
    "truncated in a key": _text(B[:40]),
    "truncated in a flow mapping": _text(B[:-10]),
    "only the header": _text("apiVersion: kgitops/v1\nkind: Topic\n"),
    "a list": _text("- a\n- b\n"),
    "a word": _text("topics\n"),
    "null": _text("null\n"),
    "conflict markers": _text(f"<<<<<<< ours\n{B}=======\n{B}>>>>>>> theirs\n"),
    "an error page": _text("<html><body>503 Service Unavailable</body></html>\n"),
    "unknown kind": _text(B.replace("Topic", "Topics")),
    "unknown field": _text(B.replace("partitions", "partition")),
    "unknown version": _text(B.replace("v1", "v2")),
    "missing variable": _text(B.replace("partitions: 1", "partitions: ${var:n}")),
    "missing environment": _text(B.replace("partitions: 1", "partitions: ${env:NO_SUCH_N}")),
    "tab": _text(B.replace("spec: ", "spec:\n\t")),
    "duplicate key": _text(B + "kind: Topic\n"),
    "duplicate object": _text(B + "---\n" + B),
    "wrong type": _text(B.replace("partitions: 1", "partitions: many")),
    "unsafe tag": _text(B.replace("metadata:", "metadata: !!python/name:os.system")),
    "latin-1": _bytes(B.replace("spec", "# caf\u00e9\nspec").encode("latin-1")),
    "utf-16": _bytes(B.encode("utf-16")),
    "zeros": _bytes(b"\x00" * 4096),
    "binary": _bytes(bytes(range(256)) * 16),
    "a folder": _folder_in_its_place,
    "a dangling link": _dangling_link,
    "a link to itself": _endless_link,
    "a pipe": _pipe,
    "all files gone": _all_gone,
    "the folder gone": _folder_gone,
    "an empty project file": _project(""),
    "a truncated project file": _project(PROJECT[:60]),
    "no uid any more": _project(PROJECT.replace(", uid: 11111111-1111-4111-8111-111111111111", "")),
    "another uid": _project(PROJECT.replace("11111111-", "22222222-")),
    "manifests elsewhere": _project(PROJECT.replace("[manifests]", "[manifest]")),
    "no manifests at all": _project(PROJECT.replace("[manifests]", "[]")),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_load_failure_never_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Path], None]
) -> None:
    """Everything may be deleted by its absence here, and nothing is."""
    monkeypatch.chdir(tmp_path)
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (tmp_path / "kgitops.yaml").write_text(PROJECT)
    (manifests / "a.yaml").write_text(TOPIC.replace("NAME", "a") + "---\n" + ACL)
    (manifests / "b.yaml").write_text(B)
    assert main(["apply", "--auto-approve"]) == 0
    before = _state(tmp_path)
    fault(manifests)
    code = main(["apply", "--auto-approve"])
    assert code not in (0, 2, 6), code
    after = _state(tmp_path)
    assert dict(after.topics) == dict(before.topics)
    assert after.acls == before.acls
    assert after.registry == before.registry


def test_only_a_whole_load_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law above can fail: the same absence, loaded whole, does delete."""
    monkeypatch.chdir(tmp_path)
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (tmp_path / "kgitops.yaml").write_text(PROJECT)
    (manifests / "a.yaml").write_text(TOPIC.replace("NAME", "a"))
    (manifests / "b.yaml").write_text(B)
    assert main(["apply", "--auto-approve"]) == 0
    (manifests / "b.yaml").unlink()
    assert main(["apply", "manifests", "--auto-approve"]) == 0
    assert sorted(_state(tmp_path).topics) == ["a", "b"]
    assert main(["apply", "--auto-approve"]) == 0
    assert sorted(_state(tmp_path).topics) == ["a"]


def _state(folder: Path) -> ClusterState:
    cluster = connect("embedded:store.db", base=folder)
    try:
        return cluster.read_state()
    finally:
        cluster.close()
