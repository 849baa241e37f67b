"""Profiles, folders, defaults and roles: as good as writing everything out, and each value told."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from laws.expansion_projects import (
    Project,
    documents_of,
    labels_of,
    origins_of_topic,
    origins_of_user,
    projects,
    write_project,
    written_out,
)
from msgspec.structs import replace
from tiers import examples
from used import with_users

from kgitops.cluster.connect import connect
from kgitops.desired import expansion, roles
from kgitops.desired.state import DesiredState
from kgitops.kinds.acls.acl import AclSpec
from kgitops.manifests.load import Manifest
from kgitops.model.json.declared import DesiredTopic, DesiredUser
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.planner import make_plan

_files = st.sampled_from(("1", "2", "z"))


def as_documents_say(data: st.DataObject, project: Project, folder: Path) -> DesiredState:
    """The project, its documents in any files of their folders and in any order."""
    shuffled = data.draw(st.permutations(documents_of(project)), label="order")
    placed = [(where, data.draw(_files, label="file"), text) for where, text in shuffled]
    return write_project(folder, placed, project.defaults, project.cluster_defaults)


def expanding_is_writing_out(data: st.DataObject) -> None:
    project = data.draw(projects(), label="project")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        short = as_documents_say(data, project, folder / "short")
        again = as_documents_say(data, project, folder / "again")
        plain = [(".", "all", document) for document in written_out(project)]
        long = write_project(folder / "long", plain, {}, {})
    assert [item.address for item in short.objects] == [item.address for item in long.objects]
    assert short.digest == long.digest
    assert again.digest == short.digest


def a_plan_names_every_origin(data: st.DataObject) -> None:
    project = data.draw(projects(), label="project")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plan = planned(as_documents_say(data, project, folder))
        for change in plan.changes:
            for path, origin in change.origins.items():
                lines = Path(origin.source.file).read_text().splitlines()
                assert lines[origin.source.line - 1][origin.source.column - 1 :].strip(), path
    found = {change.address: _named(change, folder) for change in plan.changes}
    for topic in project.topics:
        assert found.pop(f"topic/{topic.name}") == origins_of_topic(topic, project)
    for user in project.users:
        assert found.pop(f"user/{user.name}") == origins_of_user(user, project)
    given = {}
    if project.roles:
        from_folders = labels_of(project.roles[0].folder, {}, project)
        given = {f"labels.{key}": origin for key, (_, origin) in from_folders.items()}
    names = {str(role.fields["role"]) for role in project.roles}
    for origins in found.values():
        told = {path: origin for path, origin in origins.items() if not path.startswith("labels.")}
        assert {path: it for path, it in origins.items() if path not in told} == given
        assert {"permission", "operations", "resource.type"} <= told.keys()
        assert {kind for kind, _ in told.values()} == {"role"}
        assert {name for _, name in told.values()} <= names


def planned(desired: DesiredState) -> Plan:
    """The plan of a new cluster, in which everything is created."""
    with closing(connect("embedded:", brokers=3, base=Path())) as cluster:
        state = with_users(cluster)
        capabilities = cluster.capabilities
    return make_plan(desired, state, target_name="local", capabilities=capabilities)


def _named(change: Change, folder: Path) -> Mapping[str, tuple[str, str]]:
    manifests = str((folder / "manifests").resolve())
    return {
        path: (
            origin.kind.value
            if origin.removed is None
            else f"{origin.kind.value} removed: {origin.removed}",
            _relative(origin.name, manifests) if origin.kind == "folder" else origin.name,
        )
        for path, origin in change.origins.items()
    }


def _relative(name: str, manifests: str) -> str:
    below = str(Path(name).resolve()).removeprefix(manifests).strip("/")
    return below or "."


def test_expanding_is_writing_out() -> None:
    settings(max_examples=examples(300))(given(st.data())(expanding_is_writing_out))()


def test_a_plan_names_every_origin() -> None:
    settings(max_examples=examples(300))(given(st.data())(a_plan_names_every_origin))()


# Mutants: each breaks one step, and must be caught.


@pytest.mark.slow
def test_defaults_of_the_project_that_win_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = expansion.Layer.over

    def under(self: expansion.Layer, below: expansion.Layer) -> expansion.Layer:
        over = real(self, below)
        values, given = {**over.values, **below.values}, {**over.given, **below.given}
        return expansion.Layer(values, given, over.removed)

    monkeypatch.setattr(expansion.Layer, "over", under)
    assert_caught(expanding_is_writing_out)
    assert_caught(a_plan_names_every_origin)


@pytest.mark.slow
def test_a_folder_that_hides_those_above_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = expansion.Folders._overlaid

    def alone(self: expansion.Folders, folder: str) -> expansion.FolderValues:
        written = self._written.get(folder)
        if written is None:
            return real(self, folder)
        labels = written[0].metadata.labels
        whole = real(self, folder)
        own = {path: given for path, given in whole.given.items() if path[2] in labels}
        return expansion.FolderValues(labels, own, whole.profile)

    monkeypatch.setattr(expansion.Folders, "_overlaid", alone)
    assert_caught(expanding_is_writing_out)
    assert_caught(a_plan_names_every_origin)


@pytest.mark.slow
def test_folders_that_give_users_nothing_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = expansion.Expansion.labelled

    def labelled(
        self: expansion.Expansion, built: expansion.Labelled, manifest: Manifest
    ) -> expansion.Labelled:
        return built if isinstance(built, DesiredUser) else real(self, built, manifest)

    monkeypatch.setattr(expansion.Expansion, "labelled", labelled)
    assert_caught(expanding_is_writing_out)


@pytest.mark.slow
def test_labels_of_folders_that_win_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def labelled(
        self: expansion.Expansion, built: DesiredTopic, manifest: Manifest
    ) -> DesiredTopic:
        above = self._folders.values(manifest.folder).labels
        return replace(built, labels={**built.labels, **above})

    monkeypatch.setattr(expansion.Expansion, "labelled", labelled)
    assert_caught(expanding_is_writing_out)


@pytest.mark.slow
def test_origins_that_are_not_named_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "_labels_given", lambda _folder, _own: {})
    assert_caught(a_plan_names_every_origin)


@pytest.mark.slow
def test_overlaps_that_stay_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "_may_overlap", lambda _several: False)
    assert_caught(expanding_is_writing_out, by=Exception)


@pytest.mark.slow
@pytest.mark.parametrize("create", [True, False])
def test_a_role_that_gives_more_or_less_is_caught(
    monkeypatch: pytest.MonkeyPatch, *, create: bool
) -> None:
    real = roles._ROLES["producer"]

    def producer(spec: AclSpec) -> Iterator[object]:
        pattern, ids = spec.pattern_type, spec.transactional_id
        return real(  # type: ignore[arg-type]
            SimpleNamespace(
                topics=spec.topics, transactional_id=ids, pattern_type=pattern, create=create
            )
        )

    monkeypatch.setitem(roles._ROLES, "producer", producer)  # type: ignore[arg-type]
    assert_caught(expanding_is_writing_out)
