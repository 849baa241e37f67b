"""What holds of a store after any kill, and how two states differ."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from serve.killing.program import COMMITTED
from serve.killing.reading import State, committed_values
from serve.killing.record_steps import IN_TRANSACTION
from serve.raw_client import RawClient

from kgitops.cluster.embedded.store.file import open_store
from kgitops.cluster.embedded.store.store import START

_PARTITIONS = """
SELECT topic_id, partition, end_offset, bytes, max(last_offset) + 1, sum(length(data))
FROM batch LEFT JOIN partition USING (topic_id, partition)
WHERE last_offset >= coalesce(start_offset, 0) GROUP BY topic_id, partition
"""


class ViolationError(Exception):
    """A kill had a consequence that none may have."""


def check_transaction(raw: RawClient, state: State) -> None:
    """The committed one is in both partitions or in none, and no other is anywhere."""
    there = [place for place in IN_TRANSACTION if ("log", *place) in state]
    values = {place: committed_values(raw, *place) for place in there}
    distinct = set(map(tuple, values.values()))
    if len(distinct) > 1 or not distinct <= {(), (COMMITTED, COMMITTED)}:
        raise ViolationError(f"a transaction is in parts: {values}")


def check_store(path: Path) -> None:
    """The image is what the whole log adds up to; offsets and sizes are those of the batches."""
    with closing(open_store(path)) as store, store.reading():
        _hold(store.catch_up(START).image == store.load().image, "the log differs from the image")
        rows = store.connection.execute(_PARTITIONS).fetchall()
    for *partition, end, size, last, stored in rows:
        _hold((end, size) == (last, stored), f"partition {partition} and its batches differ")


def _hold(holds: bool, sentence: str) -> None:
    if not holds:
        raise ViolationError(sentence)


def without_ids(state: State) -> State:
    """A topic that is created again has another id."""
    return {
        key: value[1:] if key[0] == "topic" and isinstance(value, tuple) else value
        for key, value in state.items()
    }


def difference(found: State, states: Sequence[State]) -> str:
    """What differs from each of the states that there might be."""
    lines = []
    for state in states:
        keys = [key for key in {**found, **state} if found.get(key) != state.get(key)]
        lines += [f"{key} is {found.get(key)}, not {state.get(key)}" for key in keys]
        lines.append("or")
    return "; ".join(lines[:-1])
