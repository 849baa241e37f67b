"""A state that Spark wrote again is the same state, and without one of its files none at all."""

from pathlib import Path

import pytest
from builders import ALL_CAPABILITIES, a_binding, a_desired, a_topic, an_acl, applied

from kgitops.fleet.spark.session import Session
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.fleet.units.states import find_state_files
from kgitops.model.errors import SafetyError
from kgitops.plan.planner import make_plan

TOPICS = tuple(a_topic(f"orders.{number}") for number in range(20))
STATE = applied(*a_desired(*TOPICS, an_acl(a_binding())).objects)
WANTED = a_desired(*TOPICS, a_topic("orders.new"), an_acl(a_binding()))


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory, local_spark: Session) -> Path:
    """Several files in another order; beside them Spark leaves ``_SUCCESS`` and checksums."""
    folder = tmp_path_factory.mktemp("states")
    write_state(STATE, folder / "state.parquet")
    rows = local_spark.engine().spark.read.parquet(str(folder / "state.parquet"))
    after = folder / "cluster=prod"
    rows.orderBy(rows.address.desc()).repartition(3).write.parquet(str(after))
    return after


def test_it_is_the_same_state_with_the_same_plan(rewritten: Path) -> None:
    files, cluster = find_state_files(rewritten)
    assert (len(files), cluster) == (3, "prod")
    found = read_state(files, cluster)
    assert found == STATE
    plans = [
        make_plan(WANTED, state, target_name="prod", capabilities=ALL_CAPABILITIES)
        for state in (found, STATE)
    ]
    assert plans[0] == plans[1]
    assert [change.address for change in plans[0].changes] == ["topic/orders.new"]


@pytest.mark.parametrize("missing", range(3))
def test_without_one_of_its_files_it_is_none(missing: int, rewritten: Path) -> None:
    files, cluster = find_state_files(rewritten)
    del files[missing]
    with pytest.raises(SafetyError, match=r"its header says 21 rows, but|0 header rows"):
        read_state(files, cluster)
