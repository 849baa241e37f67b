"""The fleet that the benchmark makes up is one that kgitops itself could have written."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_the_quick_rows_are_those_of_the_product() -> None:
    """Byte by byte, or what is measured would not be what users have."""
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "fleet_values.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (run.returncode, run.stderr) == (0, "")
