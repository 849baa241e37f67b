"""A standalone cluster on loopback: a master and two workers with real ports."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet.spark import spark_work
from fleet.spark.spark_clusters import Cluster, standalone
from fleet.spark_sessions import Driver
from patience import eventually

pytestmark = pytest.mark.spark
# The workers have a core each, so that each runs one executor.
SMALL = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


def test_it_runs_by_one_option_and_a_killed_executor_costs_nothing_but_time(
    cluster: Cluster, tmp_path: Path
) -> None:
    """One is killed while each of the two is at a task."""
    specs = [str(tmp_path / f"task{number}") for number in range(6)]
    driver = Driver(tmp_path, spark_work.note_and_wait, specs, master=cluster.url, conf=SMALL)
    eventually(
        lambda: [spec for spec in specs if Path(spec).exists()],
        lambda begun: len(begun) == 2,
        what="two tasks have begun",
    )
    executors = cluster.executors()
    assert len(executors) == 2
    executors[0].kill()
    (tmp_path / "go").touch()
    driven = driver.finish()
    assert (driven.error, driven.stdout, driven.stderr) == (None, "", "")
    assert driven.answers == tuple(f"did task{number}" for number in range(6))
    attempts = sorted(len(Path(spec).read_text().split()) for spec in specs)
    assert attempts == [1, 1, 1, 1, 1, 2]
    assert driven.progress[-1] == (6, 0, 6)


def test_executors_that_can_not_be_had_are_not_waited_for_without_end(
    cluster: Cluster, tmp_path: Path
) -> None:
    conf = {**SMALL, "spark.executor.memory": "64g"}
    specs = ["a"]
    driver = Driver(
        tmp_path, spark_work.echo, specs, master=cluster.url, conf=conf, first_task_timeout_s=5
    )
    driven = driver.finish()
    assert driven.kind == "UnreachableError"
    assert driven.error is not None
    assert "began no task within 5 s" in driven.error
