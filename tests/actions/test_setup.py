"""setup installs the commit that it is used at, with uv or pip, and nothing else is on the path."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml
from actions.step_runner import ACTIONS, ROOT, read_outputs

import kgitops

(_, INSTALL) = yaml.safe_load((ACTIONS / "setup" / "action.yml").read_text())["runs"]["steps"]


def setup(temp: Path, path: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = ("HOME", "XDG_", "SSL_", "UV_", "PIP_", "HTTP", "NO_PROXY")  # how to reach packages
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", INSTALL["run"]],
        cwd=temp,
        env={
            **{name: value for name, value in os.environ.items() if name.startswith(kept)},
            "PATH": path,
            "RUNNER_TEMP": str(temp / "temp"),
            "GITHUB_ACTION_PATH": str(ACTIONS / "setup"),
            "GITHUB_PATH": str(temp / "path"),
            "GITHUB_OUTPUT": str(temp / "output"),
            "PYTHON": sys.executable,
            "INPUT_REQUIREMENT": "",
            **more,
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_setup_installs_this_commit(tool: str, tmp_path: Path) -> None:
    """With pip it is built before, and the large packages that it needs are taken from here."""
    (tmp_path / "temp").mkdir()
    bins = tmp_path / "bin"
    bins.mkdir()
    uv = os.environ.get("UV") or str(shutil.which("uv"))
    more: dict[str, str] = {}
    if tool == "uv":
        (bins / "uv").symlink_to(uv)
    else:
        subprocess.run([uv, "build", "--quiet", "--wheel", "-o", tmp_path, ROOT], check=True)
        (wheel,) = tmp_path.glob("*.whl")
        more = {"PIP_NO_DEPS": "1", "PYTHONPATH": sysconfig.get_path("purelib")}
        more["INPUT_REQUIREMENT"] = str(wheel)
    done = setup(tmp_path, f"{bins}:/usr/bin:/bin", **more)
    assert done.returncode == 0, done.stderr
    assert read_outputs((tmp_path / "output").read_text()) == {"version": kgitops.__version__}
    (added,) = (tmp_path / "path").read_text().splitlines()
    assert [path.name for path in Path(added).iterdir()] == ["kgitops"]
    program = Path(added) / "kgitops"
    assert program.resolve().is_relative_to(tmp_path / "temp")
    ran = subprocess.run(
        [program, "--version"], capture_output=True, text=True, env=more, check=True
    )
    assert ran.stdout == f"kgitops {kgitops.__version__}\n"


def test_what_can_t_be_installed_fails_the_step(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    done = setup(tmp_path, os.environ["PATH"], INPUT_REQUIREMENT="./nowhere")
    assert done.returncode != 0
    assert not (tmp_path / "path").exists()
