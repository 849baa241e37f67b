"""What a release consists of, and what it refuses: built here as the workflow builds it."""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
pytestmark = pytest.mark.xdist_group("release")  # which is built once
UV = os.environ.get("UV", "uv")
GUIDE = "docs/guides/fleet.md"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release, built with what is pinned for it."""
    folder = tmp_path_factory.mktemp("release")
    pins = ROOT / ".ci" / "release-requirements.txt"
    environ = {**os.environ, "VIRTUAL_ENV": str(folder / "venv")}
    # The system's own folders too: the script is run by bash.
    paths = (str(folder / "venv" / "bin"), environ["PATH"], os.defpath)
    environ["PATH"] = os.pathsep.join(paths)
    for words in (
        [UV, "venv", "--quiet", folder / "venv"],
        [UV, "pip", "install", "--quiet", "--require-hashes", "--requirement", pins],
        [ROOT / ".ci" / "build-release", folder / "dist"],
    ):
        subprocess.run(words, cwd=ROOT, env=environ, check=True, timeout=300)
    return folder / "dist"


def check_release() -> ModuleType:
    loader = SourceFileLoader("check_release", str(ROOT / ".ci" / "check-release"))
    spec = importlib.util.spec_from_loader("check_release", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_release_is_whole_and_its_sums_hold(dist: Path) -> None:
    sums = dict(reversed(line.split()) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {file.name for file in dist.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
    assert sorted(sums) == [
        "kgitops-0.1.0-py3-none-any.whl",
        "kgitops-0.1.0.tar.gz",
        "kgitops-requirements-fleet.txt",
        "kgitops-requirements.txt",
        "kgitops.cdx.json",
        "release-requirements.txt",
    ]


def test_the_page_on_an_index_has_no_link_that_leads_nowhere(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
        assert any(name.endswith("dist-info/licenses/LICENSE") for name in archive.namelist())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {url.split(", ")[0] for url in metadata.get_all("Project-URL", [])} == {
        "Repository",
        "Documentation",
        "Changelog",
        "Issues",
    }
    picture = "/raw/main/docs/images/pull-request.png)"  # /blob/ is a page about it
    assert f"](https://github.com/OWNER/kgitops{picture}" in metadata.get_payload()
    shown = LINK.findall(metadata.get_payload())
    written = LINK.findall((ROOT / "README.md").read_text())
    assert len(shown) == len(written)
    for link, source in zip(shown, written, strict=True):
        assert link.startswith(("https://", "#"))
        assert source.startswith(("https://", "#")) or (ROOT / source.partition("#")[0]).exists()


def test_the_bill_of_materials_names_what_the_pins_name(dist: Path) -> None:
    bill = json.loads((dist / "kgitops.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    named = {(part["name"], part["version"]) for part in bill["components"]}
    pins = re.findall(
        r"^([a-z][\w.-]*)==(\S+)", (dist / "kgitops-requirements.txt").read_text(), re.MULTILINE
    )
    needed = set(pins) - named
    assert {name for name, _ in needed} <= {  # what builds it is no part of it
        "editables",
        "hatchling",
        "packaging",
        "pathspec",
        "pluggy",
        "setuptools",
        "tomlkit",
        "trove-classifiers",
    }


@pytest.mark.slow
def test_the_wheel_installs_with_the_pins_alone_and_runs(dist: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "VIRTUAL_ENV": str(tmp_path / "venv")}
    install = [UV, "pip", "install", "--quiet"]
    (wheel,) = dist.glob("*.whl")
    for words in (
        [UV, "venv", "--quiet", tmp_path / "venv"],
        [*install, "--require-hashes", "--requirement", dist / "kgitops-requirements.txt"],
        [*install, "--no-deps", "--no-index", wheel],
    ):
        subprocess.run(words, env=environ, check=True, timeout=300)
    kgitops = tmp_path / "venv" / "bin" / "kgitops"
    for words in (["init", "first"], ["apply", "first", "--auto-approve"]):
        subprocess.run([kgitops, *words], cwd=tmp_path, env={}, check=True, timeout=120)
    assert "--hash=sha256:" in (tmp_path / "first/.github/kgitops-requirements.txt").read_text()


def test_the_sources_build_the_same_wheel_s_files(dist: Path) -> None:
    (sources,) = dist.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "SECURITY.md", "hatch_build.py", "kgitops/py.typed"} <= names


def test_a_release_is_refused_while_its_address_is_a_placeholder() -> None:
    found = check_release().problems(ROOT, "v0.1.0")
    assert (
        "pyproject.toml has the placeholder OWNER/kgitops; write the address of the repository "
        "that the release is made in"
    ) in found
    assert len([sentence for sentence in found if "placeholder" in sentence]) == 5


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "says"),
    [
        ("v0.1.1", "README.md", "", "", "the tag is v0.1.1"),
        ("0.1.0", "README.md", "", "", "the tag is 0.1.0"),
        ("", "README.md", "", "", "tag v0.1.0"),
        ("v0.1.0", "kgitops/__init__.py", "0.1.0", "0.2.0", "another version"),
        ("v0.1.0", "CHANGELOG.md", "## 0.1.0", "## Unreleased", "no section 0.1.0"),
        ("v0.1.0", GUIDE, "acme/kgitops", "OWNER/kgitops", f"{GUIDE} has the"),
    ],
)
def test_what_is_not_ready_is_said(
    tag: str, file: str, old: str, new: str, says: str, tmp_path: Path
) -> None:
    for name in check_release().NAMING:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text().replace("OWNER/kgitops", "acme/kgitops")
        (tmp_path / name).write_text(text)
    (tmp_path / "kgitops").mkdir()
    (tmp_path / "kgitops/__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## 0.1.0\n")
    problems = check_release().problems
    assert problems(tmp_path, "v0.1.0") == []
    (tmp_path / file).write_text((tmp_path / file).read_text().replace(old, new))
    (sentence,) = problems(tmp_path, tag)
    assert says in sentence
