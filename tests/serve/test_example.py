"""examples/serve: a program's tests, run as its authors run them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "serve"


def test_the_programs_tests_pass(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    shutil.copytree(EXAMPLE, folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    assert not (folder / ".kgitops").exists(), "the cluster was in memory"
