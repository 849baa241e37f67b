"""README's commands, pasted in their order on a machine without Java, and what README shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox import readme_plan
from strangers import stranger_on_the_first_port

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLONE = "https://github.com/OWNER/kgitops"
TESTS = "uv run --group test pytest"
NEEDED = ("awk", "bash", "cat", "dirname", "env", "git", "mkdir", "sed", "sh", "uname")
"""The programs of the machine beside Python and uv."""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a new user without Java; caches of downloads are this machine's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    found = {name: shutil.which(name) for name in NEEDED}
    found |= {"uv": os.environ.get("UV") or shutil.which("uv")}
    found |= {"python3": str(Path(sys.base_prefix) / "bin" / "python3")}
    for name, program in found.items():
        assert program, name
        (programs / name).symlink_to(Path(program).resolve())
    home = tmp_path / "home"
    home.mkdir()
    caches = {
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "UV_LINK_MODE": "symlink",  # into uv's cache: pytest's folders are in memory
        **{name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_"))},
    }
    return {"PATH": str(programs), "HOME": str(home), **caches}


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.xdist_group("sandbox-commands")
def test_each_block_works_in_its_order_on_a_machine_without_java(
    tmp_path: Path, bare: dict[str, str]
) -> None:
    """Another Kafka has the sandbox's first port. Of the tests, only those of one file run."""
    source = tmp_path / "source" / "kgitops"
    copy_as_repository(source)
    blocks = BLOCK.findall(README)
    lines = [line.removeprefix("$ ") for line in "".join(blocks).splitlines()]
    assert (lines[0].startswith("git clone"), lines[-1]) == (True, TESTS)
    script = "\n".join(lines).replace(CLONE, str(source))
    script += " -q -n0 tests/test_patience.py"
    (tmp_path / "work").mkdir()
    with stranger_on_the_first_port(Path(bare["HOME"]) / ".local" / "state") as other:
        try:
            said = paste(script, tmp_path / "work", bare)
        finally:
            stop = "cd kgitops && uv run kgitops sandbox stop --yes"
            subprocess.run(["bash", "-c", stop], cwd=tmp_path / "work", env=bare, check=False)
        assert other.connections == 0
    for sentence in (
        "Applied: 13 done.",
        "No changes.",
        "Plan: 13 to create",
        "Created topic clicks.",
        "to adopt",
        "Stopped, and its data deleted.",
        " passed",
    ):
        assert sentence in said, (sentence, said)


def copy_as_repository(folder: Path) -> None:
    """A repository with the files of this one, as they are now."""
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def paste(script: str, folder: Path, environ: dict[str, str]) -> str:
    """Run lines until one fails, and return what all of them print."""
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_readme_shows_what_a_plan_prints(tmp_path: Path) -> None:
    """Each line, in its order; `…` stands for any text."""
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    printed = readme_plan.show_plan(tmp_path)
    lines = [".*?".join(map(re.escape, line.split("…"))) for line in shown.splitlines()]
    assert len(lines) > 6
    assert re.search(r"\n(?:.*\n)*?".join(lines), printed), printed


def test_the_picture_in_the_readme_is_small() -> None:
    """To write it: uv run --group test python tests/sandbox/readme_plan.py."""
    assert f"({readme_plan.PICTURE.relative_to(ROOT)})" in README
    assert readme_plan.PICTURE.stat().st_size < 150_000


def test_the_readme_has_at_most_130_lines() -> None:
    assert len(README.splitlines()) <= 130
