"""Nothing is removed because the folder that declares it was not checked out."""

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, tombstone, topic
from reconcile.sources.repositories import run

OWN = topic("own")
SHARED = topic("shared", deletionPolicy="Delete")
LEFT = topic("left", deletionPolicy="Orphan")
PROTECTED = topic("kept")
POLICY = """apiVersion: kgitops/v1
kind: Policy
metadata: {name: any-topic}
spec: {match: {requests: [CreateTopic]}, validations: [{expression: "true"}]}
"""


@pytest.fixture
def project(tmp_path: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose folder ``manifests/shared`` declares a topic that is applied."""
    monkeypatch.chdir(tmp_path)
    return declare(Project(tmp_path / "payments"), kgitops, SHARED)


def declare(project: Project, kgitops: Kgitops, *shared: object) -> Project:
    project.write(OWN)
    folder = project.folder / "manifests" / "shared"
    folder.mkdir(exist_ok=True)
    (folder / "all.yaml").write_text(as_yaml(shared))  # type: ignore[arg-type]
    applied = kgitops("apply", project.folder, "--auto-approve")
    assert applied.code == 0, applied.said
    return project


def empty(project: Project) -> Path:
    (project.folder / "manifests" / "shared" / "all.yaml").unlink()
    return project.folder / "manifests" / "shared"


@pytest.mark.parametrize(
    ("document", "removes"),
    [
        (SHARED, "the plan deletes 1 object, but"),
        (LEFT, "the plan forgets 1 object, but"),
        (PROTECTED, "the plan would remove objects, but"),
    ],
)
def test_an_empty_folder_and_a_removal_are_refused(
    project: Project, kgitops: Kgitops, document: object, removes: str
) -> None:
    if document is not SHARED:
        declare(project, kgitops, SHARED, document)
        project.write(OWN, SHARED)
    empty(project)
    before = project.records()
    for command in (["plan"], ["apply", "--auto-approve"]):
        ran = kgitops(*command, project.folder)
        assert ran.code == 5, ran.said
        assert (
            f"{removes} the folder payments/manifests/shared is empty, so files may be missing; "
            "put its files back, or remove the folder, or, if that is what should go, pass "
            "--allow-empty-folder payments/manifests/shared"
        ) in ran.said
    assert project.records() == before


def test_nothing_is_refused_where_nothing_is_removed(project: Project, kgitops: Kgitops) -> None:
    project.write(OWN, SHARED, topic("new"))
    empty(project)
    ran = kgitops("apply", project.folder, "--auto-approve")
    assert ran.code == 0, ran.said
    assert "empty" not in ran.said


def test_a_removed_folder_is_a_removal(project: Project, kgitops: Kgitops) -> None:
    empty(project).rmdir()
    assert kgitops("apply", project.folder, "--auto-approve").code == 0


def test_a_tombstone_is_refused_as_well(project: Project, kgitops: Kgitops) -> None:
    empty(project)
    project.write(SHARED, tombstone("topic/own"))
    assert kgitops("plan", project.folder).code == 5
    # In a part of a project as in the whole, and only if the folder is in that part.
    part = project.folder / "manifests"
    assert kgitops("plan", part).code == 5
    assert kgitops("plan", part / "all.yaml").code == 0


def test_what_is_allowed_is_recorded_shown_and_applied(project: Project, kgitops: Kgitops) -> None:
    folder = empty(project)
    allow = ["--allow-empty-folder", f"{folder}/", "-o", "plan.json"]
    planned = kgitops("plan", project.folder, *allow)
    assert planned.code == 0, planned.said
    name = "payments/manifests/shared"
    note = f"this folder may be empty while objects are removed: --allow-empty-folder {name}"
    assert note in planned.out
    document = json.loads(Path("plan.json").read_text())
    assert document["allow_empty_folders"] == [name]
    for form in ("text", "markdown", "html"):
        assert f"--allow-empty-folder {name}" in kgitops("show", "plan.json", "--format", form).out
    again = kgitops("apply", "plan.json", "--allow-empty-folder", folder)
    assert (again.code, "is applied as it is" in again.said) == (64, True)
    document["allow_empty_folders"] = ["elsewhere"]
    Path("forged.json").write_text(json.dumps(document, indent=2) + "\n")
    assert kgitops("apply", "forged.json").code == 9
    document.pop("allow_empty_folders")
    Path("forged.json").write_text(json.dumps(document, indent=2) + "\n")
    assert kgitops("show", "forged.json").code == 9
    assert kgitops("apply", "plan.json").code == 0


def test_a_plan_without_the_option_does_not_mention_it(project: Project, kgitops: Kgitops) -> None:
    planned = kgitops("plan", project.folder, "--format", "json")
    assert "allow_empty_folders" not in json.loads(planned.out)


def test_another_folder_that_is_allowed_is_a_warning(project: Project, kgitops: Kgitops) -> None:
    empty(project)
    ran = kgitops("plan", project.folder, "--allow-empty-folder", "manifests/shared")
    assert ran.code == 5
    assert "manifests/shared: no such folder below the manifests is empty" in ran.said


def test_validate_warns(project: Project, kgitops: Kgitops) -> None:
    empty(project)
    ran = kgitops("validate", project.folder)
    assert ran.code == 0
    assert "warning: the folder payments/manifests/shared is empty, so files may be" in ran.said


def test_an_empty_folder_of_policies_is_none_of_manifests(
    project: Project, kgitops: Kgitops
) -> None:
    """It is an error of its own: see test_passed_over.py."""
    (project.folder / "manifests" / "rules" / "later").mkdir(parents=True)
    (project.folder / "manifests" / "rules" / "policy.yaml").write_text(POLICY)
    empty(project).rmdir()
    project.write_file(policies=["manifests/rules"])
    ran = kgitops("plan", project.folder)
    assert (ran.code, "the folder payments/manifests/rules/later is empty" in ran.said) == (1, True)
    assert "the plan deletes" not in ran.said


def test_a_project_that_declares_nothing_names_the_folder(
    project: Project, kgitops: Kgitops
) -> None:
    empty(project)
    (project.folder / "manifests" / "all.yaml").write_text(POLICY)
    ran = kgitops("plan", project.folder)
    assert ran.code == 5
    assert "declares nothing, yet manages 2" in ran.said
    assert "the plan would remove objects, but the folder payments/manifests/shared" in ran.said


@pytest.mark.parametrize("name", ["all.YAML", "all.yaml.tmp"])
def test_a_manifest_that_was_renamed_is_not_a_removal(
    project: Project, kgitops: Kgitops, name: str
) -> None:
    folder = project.folder / "manifests" / "shared"
    (folder / "all.yaml").rename(folder / name)
    for command in (["plan"], ["validate"], ["apply", "--auto-approve"]):
        ran = kgitops(*command, project.folder)
        assert ran.code == 1
        assert f"payments/manifests/shared/{name}:1:1: the name looks like a manifest's" in ran.said


@pytest.fixture
def cloned(project: Project, kgitops: Kgitops, tmp_path: Path) -> Project:
    """The project as a clone of a repository, whose shared folder is a submodule of another."""
    (tmp_path / "origin").mkdir()
    shutil.move(project.folder / "manifests" / "shared", tmp_path / "library")
    shutil.copytree(project.folder, tmp_path / "origin", dirs_exist_ok=True)
    for place in ("library", "origin"):
        run("git", "init", "-q", cwd=tmp_path / place)
    add = ("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    commit = ("git", "commit", "-q", "-m", "all")
    run("git", "add", ".", cwd=tmp_path / "library")
    run(*commit, cwd=tmp_path / "library")
    run(*add, tmp_path / "library", "manifests/shared", cwd=tmp_path / "origin")
    run("git", "add", "kgitops.yaml", "manifests", cwd=tmp_path / "origin")
    run(*commit, cwd=tmp_path / "origin")
    run("git", "clone", "-q", "origin", "clone", cwd=tmp_path)
    shutil.copytree(project.folder / ".kgitops", tmp_path / "clone" / ".kgitops")
    return Project(Path("clone"))


def test_a_submodule_that_was_not_checked_out_is_named_with_its_command(
    cloned: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cloned.folder)
    words = (
        "the plan deletes 1 object, but manifests/shared is a git submodule that was not checked "
        "out; run `git submodule update --init manifests/shared` (in GitHub Actions, set "
        "`submodules: true`), or, if that is what should go, pass --allow-empty-folder "
        "manifests/shared"
    )
    ran = kgitops("plan")
    assert (ran.code, words in ran.said) == (5, True), ran.said
    Path("manifests/shared").rmdir()
    ran = kgitops("plan")
    assert (ran.code, words in ran.said) == (5, True), ran.said
    update = ("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update")
    run(*update, "--init", "manifests/shared", cwd=Path())
    ran = kgitops("plan")
    assert (ran.code, "No changes" in ran.out) == (0, True), ran.said


def test_manifests_that_a_sparse_checkout_leaves_out_are_not_removed(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    run("git", "init", "-q", cwd=Path())
    run("git", "add", "kgitops.yaml", "manifests", cwd=Path())
    run("git", "commit", "-q", "-m", "all", cwd=Path())
    run("git", "sparse-checkout", "set", "other", cwd=Path())
    run("git", "sparse-checkout", "add", "manifests", cwd=Path())
    assert kgitops("plan").code == 0
    run("git", "sparse-checkout", "set", "--no-cone", "/*", "!/manifests/shared/", cwd=Path())
    assert not Path("manifests/shared").exists()
    ran = kgitops("plan")
    assert ran.code == 5, ran.said
    assert (
        "the plan deletes 1 object, but the sparse checkout leaves out manifests in "
        f"manifests/shared; run `git -C {Path.cwd()} sparse-checkout add manifests/shared`"
    ) in ran.said
    assert kgitops("plan", "--allow-empty-folder", "manifests/shared").code == 0
