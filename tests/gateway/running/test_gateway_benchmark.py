"""The benchmark runs to its end, with names that are translated on the way."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "gateway.py"
SMALL = ("--megabytes", "1", "--requests", "20", "--warmups", "0", "--rounds", "1")


@pytest.mark.kafka
@pytest.mark.xdist_group("gateway-benchmark")
def test_a_small_run_measures_the_gateway() -> None:
    """Its figures mean nothing at this size; that there are some shows that the load came through.

    The load itself fails if a record is not acknowledged, or does not come back.
    """
    run = subprocess.run(
        [sys.executable, str(BENCHMARK), *SMALL, "--protocol", "tls", "--only", "kgitops, names"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (run.returncode, run.stderr) == (0, "")
    _, _, row = (line.split("|")[1:-1] for line in run.stdout.splitlines() if line)
    name, *rates = (cell.strip() for cell in row)
    assert name == "kgitops, names"
    assert all(float(rate.replace(",", "")) > 0 for rate in rates[:4])
    assert float(rates[-1]) > 10, "megabytes of memory"
