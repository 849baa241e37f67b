"""``kgitops fleet plan`` on a Spark cluster and by Spark Connect: one option, the same result."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fleet.spark.spark_clusters import connect_server, standalone
from fleet.spark_archive import DRIVER, java_options
from fleet.spark_sessions import PATIENCE_S

from kgitops.cli.main import main
from kgitops.model.registry import Json

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[3] / "examples" / "quickstart"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and the state of the one cluster that it was not applied to yet."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, "quickstart", ignore=shutil.ignore_patterns(".kgitops"))
    for folder in ("states", "cluster", "connect"):
        Path(folder).mkdir()
    for cluster in ("local", "sandbox"):
        assert main(["snapshot", "quickstart", "-o", f"states/{cluster}.json"]) == 0
    return tmp_path


def planned(out: str, *option: str) -> dict[str, Json]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kgitops", "fleet", "plan"),
            *("--desired", "quickstart", "--state", "states", "--out", out, *option),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Json] = json.loads(Path(out, "fleet.json").read_text())
    for unit in (found, *found["units"]):
        for moment in ("created", "milliseconds", "files"):
            unit.pop(moment, None)
    return found


def test_a_cluster_and_connect_give_what_this_machine_gives(here: Path) -> None:
    """VC-410's tables, made on a standalone cluster of two workers and by a server of Connect."""
    sooner = ("--conf", f"{DRIVER}={java_options()}")
    expected = planned("here", "--master", "local[2]", *sooner)
    assert [unit["actions"] for unit in expected["units"]] == [{"create": 13}, {"create": 13}]
    with standalone(here / "cluster") as cluster:
        assert planned("cluster-run", "--master", cluster.url, *sooner) == expected
    with connect_server(here / "connect") as url:
        assert planned("connect-run", "--remote", url) == expected
