"""Kills a server with SIGKILL at each boundary of what a client writes.

Usage: kill_serve_driver.py FOLDER EVERY [MUTANT]. In FOLDER, trial after trial, a child serves a
new store and dies at the next boundary, or at every so many (see boundaries.py), while this process
takes the steps of a client (see program.py). Another child serves what is left, and this process
sees that each step that was answered is there, and of the one that was not all or nothing; that
this one can be sent again; and that something else can be written. Then the same for all boundaries
of a restart. Prints the boundaries, and how many there are of each.
"""

import shutil
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from itertools import chain, count
from pathlib import Path

from patience import eventually
from serve.killing.boundaries import OPTIONS
from serve.killing.checks import (
    ViolationError,
    check_store,
    check_transaction,
    difference,
    without_ids,
)
from serve.killing.program import abort, after, steps
from serve.killing.reading import State, open_transaction, read_state
from serve.killing.served_child import ServedChild
from serve.killing.step import Client, Step
from serve.raw_client import raw_client

from kgitops.cluster.embedded.boot import boot
from kgitops.serve.background import serving

_LATER_IDS = 1_000
"""The ids of a process that serves what another has left."""


def main(folder: Path, every: int, mutant: str | None) -> None:
    program = steps()
    _take_here(folder / "here.db", program)
    states = _states(folder / "reference.db", program)
    for boundary in count(0, every):
        store = folder / f"{boundary}.db"
        if not _trial(store, boundary, program, states, mutant):
            break
    restarts = _restarts(folder, program)
    print(boundary, restarts)


def _take_here(store: Path, program: Sequence[Step]) -> None:
    """Serve in this process: what that imports and compiles, no child has to."""
    with (
        closing(boot(store, brokers=1, options=OPTIONS)) as cluster,
        serving(cluster) as server,
        raw_client(server.endpoints[0]) as raw,
    ):
        client = Client()
        for step in program:
            step.take(raw, client)
        read_state(raw)
    eventually(threading.active_count, lambda count: count == 1, what="the server's threads end")


def _states(store: Path, program: Sequence[Step]) -> Sequence[State]:
    """What can be read before each step, and after the last."""
    served, client = ServedChild(store), Client()
    with served.client() as raw:
        states = [read_state(raw)]
        for step in program:
            step.take(raw, client)
            states.append(read_state(raw))
    served.end()
    return states


def _trial(
    store: Path,
    boundary: int,
    program: Sequence[Step],
    states: Sequence[State],
    mutant: str | None,
) -> bool:
    """Whether the server was killed; what it left is checked."""
    client = Client()
    taken = 0
    served = ServedChild(store, boundary, mutant=mutant)
    if served.endpoint is not None:
        try:
            with served.client() as raw:
                for step in program:
                    step.take(raw, client)
                    taken += 1
        except ConnectionError:
            served.wait()
        else:
            # The last answer may be out just before the kill.
            served.end()
    step = program[taken] if taken < len(program) else None
    where = f"boundary {boundary}, {served.killed}, {step.api if step else 'after the program'}"
    print(where, flush=True)
    try:
        _check(store, client, step, states[taken : taken + 2])
    except (AssertionError, ViolationError) as error:
        raise ViolationError(f"{where}: {error}") from error
    return bool(served.killed)


def _check(store: Path, client: Client, step: Step | None, states: Sequence[State]) -> None:
    """See that the step was taken or not, that it can be taken, and something after it."""
    served = ServedChild(store, first_id=_LATER_IDS if store.exists() else 1)
    with served.client() as raw:
        found = read_state(raw)
        if found not in states:
            raise ViolationError(difference(found, states))
        if step is not None and step.repeats:
            step.take(raw, client, again=True)
            done = without_ids(read_state(raw))
            if done != without_ids(states[1]):
                raise ViolationError(f"sent again: {difference(done, states[1:])}")
        if open_transaction(raw):
            abort(raw)
        check_transaction(raw, read_state(raw))
        after(raw)
    served.end()
    check_store(store)


def _restarts(folder: Path, program: Sequence[Step]) -> int:
    """The boundaries of a start, which recovers and compacts what a kill has left."""
    left = folder / "left.db"
    before = _leave(left, program)
    state: State = {}
    for boundary in chain([None], count()):
        store = folder / f"restarted-{boundary}.db"
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{left}{suffix}", f"{store}{suffix}")
        served = ServedChild(store, boundary, first_id=_LATER_IDS)
        if served.endpoint is not None:
            served.end()
        again = ServedChild(store, first_id=_LATER_IDS)
        with again.client() as raw:
            found = read_state(raw, compacted_by_key=False)
            state = state or found
            assert found != before, "there is nothing to compact"
            if found != state:
                where = f"boundary {boundary} of a restart, {served.killed}"
                raise ViolationError(f"{where}: {difference(found, [state])}")
            after(raw)
        again.end()
        check_store(store)
        print(f"restart, boundary {boundary}, {served.killed}", flush=True)
        if boundary is not None and not served.killed:
            return boundary
    raise AssertionError


def _leave(store: Path, program: Sequence[Step]) -> State:
    """Leave a store after the program with its journal, by a kill; what could be read before."""
    served, client = ServedChild(store), Client()
    with served.client() as raw:
        for step in program:
            step.take(raw, client)
        state = read_state(raw, compacted_by_key=False)
    served.kill()
    return state


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
