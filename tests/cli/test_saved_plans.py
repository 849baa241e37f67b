"""A saved plan finds its project and its cluster again, wherever it is applied from."""

import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.policed import in_process
from cli.projects import EXAMPLES, Project, acl, topic

from kgitops.cli.running.streams import is_special
from kgitops.plan.reading import read_plan

__all__ = ["in_process"]


@pytest.fixture
def quickstart(here: Path) -> Path:
    """The example, below the folder that commands run in."""
    leave = shutil.ignore_patterns(".kgitops")
    return shutil.copytree(EXAMPLES / "quickstart", here / "examples" / "quickstart", ignore=leave)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("planned_in", "path", "applied_in", "plan"),
    [
        (".", "examples/quickstart", ".", "plan.json"),
        (".", "examples/quickstart", "examples/quickstart", "../../plan.json"),
        (".", "examples/quickstart", "examples", "../plan.json"),
        (".", "examples/quickstart", "elsewhere", "../plan.json"),
        ("examples", "quickstart", ".", "examples/plan.json"),
        ("examples/quickstart", ".", "examples/quickstart", "plan.json"),
        ("examples/quickstart", ".", ".", "examples/quickstart/plan.json"),
        ("examples/quickstart", "manifests/orders.yaml", ".", "examples/quickstart/plan.json"),
        ("examples/quickstart/manifests", "orders.yaml", "..", "here/examples/quickstart/p.json"),
    ],
)
def test_a_plan_finds_its_project(
    planned_in: str,
    path: str,
    applied_in: str,
    plan: str,
    quickstart: Path,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = quickstart.parents[1]
    (here / "elsewhere").mkdir()
    (here.parent / "here").unlink(missing_ok=True)
    (here.parent / "here").symlink_to(here)
    monkeypatch.chdir(here / applied_in)
    saved = Path(plan).resolve()
    monkeypatch.chdir(here / planned_in)
    assert kgitops("plan", path, "-o", saved).code == 0
    monkeypatch.chdir(here / applied_in)
    ran = kgitops("apply", plan)
    assert ran.code == 0, ran.said
    assert (quickstart / ".kgitops" / "local.db").is_file()


def test_the_project_of_its_sources_counts_before_the_one_here(
    project: Project, here: Path, kgitops: Kgitops
) -> None:
    """Two projects with one identity: staging's and production's folders of one repository."""
    project.write(topic()).write_file(safety={"maxDeletes": 0})
    Project(here).write(topic("other"))
    kgitops("plan", "payments", "-o", "plan.json")
    assert kgitops("apply", "plan.json").code == 0
    assert project.store.is_file()
    assert not Project(here).store.exists()


def test_another_project_beside_the_plan_is_never_taken_for_its_own(
    project: Project, here: Path, kgitops: Kgitops
) -> None:
    project.write(topic())
    kgitops("plan", "payments", "-o", "plan.json")
    shutil.rmtree(project.folder)
    Project(here, name="search", uid="search-1").write(topic())
    ran = kgitops("apply", "plan.json")
    assert ran.code == 9
    assert "the project here is 'search' (search-1)" in ran.err
    assert not Project(here).store.exists()


@pytest.fixture
def removal(project: Project, kgitops: Kgitops) -> Project:
    """A plan that names no source: a document that was removed stands nowhere."""
    project.write(topic(), acl())
    kgitops("apply", "payments", "--auto-approve")
    project.write(topic())
    kgitops("plan", "payments", "-o", "plan.json")
    return project


@pytest.mark.parametrize("folder", [".", "payments", "elsewhere"])
def test_a_plan_that_names_no_source_finds_its_project_below(
    folder: str, removal: Project, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / folder)
    plan = "plan.json" if folder == "." else "../plan.json"
    ran = kgitops("apply", plan)
    assert (ran.code, "1 done" in ran.out) == (0, True)


def test_of_two_folders_with_its_project_none_is_guessed(
    removal: Project, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(removal.folder, here / "copy")
    lost = kgitops("apply", "plan.json")
    assert (lost.code, "which lies in each of copy, payments; run apply in" in lost.err) == (
        9,
        True,
    )
    monkeypatch.chdir(removal.folder)
    assert kgitops("apply", "../plan.json").code == 0


def test_a_plan_without_a_project_needs_none(here: Path, kgitops: Kgitops) -> None:
    (here / "topics").mkdir()
    Project(here / "scratch").write(topic())
    shutil.copy(here / "scratch" / "manifests" / "all.yaml", here / "topics")
    assert kgitops("plan", "topics", "-o", "plan.json").code == 0
    assert (
        read_plan((here / "plan.json").read_text(), "plan.json").plan.desired.project == "default"
    )
    assert kgitops("apply", "plan.json").code == 0
    assert Project(here).store.is_file()


@pytest.mark.parametrize("url", ["embedded:other.db", "embedded:sub/other.db?brokers=2"])
def test_a_url_that_was_typed_is_meant_from_where_it_was_typed(
    url: str, project: Project, here: Path, kgitops: Kgitops
) -> None:
    project.write(topic())
    assert kgitops("plan", "payments", "-c", url, "-o", "plan.json").code == 0
    assert kgitops("apply", "plan.json").code == 0
    assert list(here.rglob("other.db"))
    assert not project.store.exists()
    assert kgitops("plan", "payments", "-c", url, "--detailed-exitcode").code == 0


def test_each_cluster_of_a_project_gets_its_own_plan(
    here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLICKS_APP_PASSWORD", "a password")
    leave = shutil.ignore_patterns(".kgitops")
    shutil.copytree(EXAMPLES / "environments", here / "environments", ignore=leave)
    for name in ("staging", "prod"):
        assert kgitops("plan", "environments", "-c", name, "-o", f"{name}.json").code == 0
    assert kgitops("apply", "staging.json", "-c", "prod").code == 9
    for name in ("staging", "prod"):
        assert kgitops("apply", f"{name}.json").code == 0
        again = kgitops("plan", "environments", "-c", name, "--detailed-exitcode")
        assert again.code == 0


@pytest.mark.parametrize("name", ["plan.json", "plan.out", "tfplan", "saved.plan", "plan.yaml"])
def test_a_plan_is_known_by_what_it_holds(name: str, project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    kgitops("plan", "payments", "-o", name)
    assert kgitops("apply", name).code == 0


def test_a_manifest_in_json_is_no_plan(project: Project, here: Path, kgitops: Kgitops) -> None:
    project.write_file()
    (project.folder / "manifests").mkdir()
    (project.folder / "manifests" / "orders.json").write_text(
        '{"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {"name": "orders"},'
        ' "spec": {"partitions": 1, "replicationFactor": 1}}'
    )
    manifest = "payments/manifests/orders.json"
    assert kgitops("apply", manifest, "--auto-approve").code == 0


def test_a_plan_of_a_folder_below_belongs_to_the_project_above(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to the default project, whose cluster would be another one."""
    project.write(topic())
    monkeypatch.chdir(project.folder / "manifests")
    ran = kgitops("plan", "all.yaml", "-o", "../plan.json")
    assert (ran.code, "project=payments" in ran.out) == (0, True)
    assert "only a part of the project was planned" in ran.out
    assert not (project.folder / "manifests" / ".kgitops").exists()


def test_a_refused_plan_is_still_saved_and_applying_it_exits_with_its_code(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic(), acl())
    kgitops("apply", "payments", "--auto-approve")
    project.write(acl())
    planned = kgitops("plan", "payments", "-o", "plan.json")
    applied = kgitops("apply", "plan.json")
    shown = kgitops("show", "plan.json")
    assert (planned.code, applied.code, shown.code) == (5, 5, 5)
    assert "topic/orders is protected" in applied.err


def test_a_plan_file_is_for_its_owner_only(project: Project, here: Path, kgitops: Kgitops) -> None:
    project.write(topic())
    kgitops("plan", "payments", "-o", "plan.json")
    assert (here / "plan.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in here.iterdir() if path.name.startswith(".")] == []


def test_a_plan_written_through_a_link_keeps_the_link(
    project: Project, here: Path, kgitops: Kgitops
) -> None:
    project.write(topic())
    (here / "real.json").write_text("old")
    (here / "link.json").symlink_to("real.json")
    kgitops("plan", "payments", "-o", "link.json")
    assert (here / "link.json").is_symlink()
    assert kgitops("apply", "real.json").code == 0


def test_a_plan_can_be_written_to_a_pipe_and_never_replaces_it(
    project: Project, process: Kgitops
) -> None:
    project.write(topic())
    ran = process("plan", "payments", "-o", "/dev/stdout", "--format", "json")
    first, second = ran.out[: len(ran.out) // 2], ran.out[len(ran.out) // 2 :]
    assert (ran.code, first) == (0, second)
    assert Path("/dev/stdout").is_symlink()


def test_a_folder_in_memory_is_a_folder_like_any_other() -> None:
    """Below /dev are devices, which are written to; /dev/shm holds files, which are replaced."""
    assert not is_special(Path("/dev/shm/plan.json"))  # noqa: S108
    assert is_special(Path("/dev/stdout"))
    assert is_special(Path("/dev/fd/3"))
