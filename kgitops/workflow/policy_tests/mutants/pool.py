"""Two processes that try mutants; a process that does not answer is ended and replaced."""

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kgitops.model.errors import KgitopsError
from kgitops.policy.evaluate.bundle import Policy
from kgitops.policy.worker.process_setup import limit_memory
from kgitops.policy.worker.supervisor import END, supervise
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.mutants.mutants import Mutant, MutantResult
from kgitops.workflow.policy_tests.mutants.trial import OutOfTimeError, Trial

if TYPE_CHECKING:
    from kgitops.workflow.policy_tests.cases import Suite

_MEMORY = 1 << 30
"""A mutant that takes more bytes than this fails, and only it."""


def serve(
    connection: Connection,
    lifeline: Connection,
    owner: int,
    policies: Sequence[Policy],
    suites: "Sequence[Suite]",
) -> None:
    """Run the process: send the anatomies of the policies first, then a result for each mutant.

    It ends, with all that policies started, when ``lifeline`` says so or the ``owner`` is gone.
    """
    supervise(lifeline.fileno(), owner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began the run stops it
    limit_memory(_MEMORY)
    logging.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the output of policies is not a result
    try:
        trial = Trial(policies, suites)
    except BaseException:  # noqa: BLE001 (a policy may raise anything)
        return  # without an answer the run loads the policies itself, which gives the reason
    connection.send(trial.anatomies)
    while (mutant := connection.recv()) is not None:
        try:
            result = trial.run(mutant)
        except OutOfTimeError:  # it rang once more on the way out
            result = MutantResult.TIMED_OUT
        connection.send(result)


PROCESSES = 2
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_ANSWER_SECONDS = 30.0
"""For mutants that no alarm ends: in code that is not Python's, or asleep."""


class _Process:
    """One process, from its first answer to its end."""

    def __init__(self, policies: Sequence[Policy], suites: "Sequence[Suite]") -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._lifeline, end = context.Pipe()
        self._process = context.Process(
            target=serve,
            args=(theirs, end, os.getpid(), policies, suites),
            daemon=True,
            name="kgitops-mutants",
        )
        self._process.start()
        theirs.close()
        end.close()
        self.anatomies: Mapping[str, Anatomy] | None = self._answer(_START_SECONDS)

    def run(self, mutant: Mutant) -> MutantResult:
        """Try the mutant; after a time-out the process is of no more use."""
        with suppress(OSError):
            self._connection.send(mutant)
        result: MutantResult | None = self._answer(_ANSWER_SECONDS)
        return MutantResult.TIMED_OUT if result is None else result

    def _answer(self, seconds: float) -> Any:  # noqa: ANN401 (what the other side sends)
        """Its next answer; None if it does not answer in time, or has ended."""
        try:
            return self._connection.recv() if self._connection.poll(seconds) else None
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """End it and everything that it started."""
        with suppress(OSError):
            os.write(self._lifeline.fileno(), END)
        self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()
        self._lifeline.close()


class TrialPool:
    """Processes in which the policies under test are loaded; use it in a ``with`` block."""

    def __init__(self, policies: Sequence[Policy], suites: "Sequence[Suite]") -> None:
        self._make: Callable[[], _Process] = lambda: _Process(policies, suites)
        self._idle: SimpleQueue[_Process] = SimpleQueue()

    def __enter__(self) -> Self:
        first = self._make()
        if first.anatomies is None:
            first.end()
            raise KgitopsError(
                "the policies could not be looked at in a process of their own; run kgitops policy "
                "test without --coverage and --mutate to see why"
            )
        self.anatomies = first.anatomies
        self._idle.put(first)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while not self._idle.empty():
            self._idle.get().end()

    def try_all(
        self, mutants: Sequence[Mutant], on_result: Callable[[], None]
    ) -> list[MutantResult]:
        """Try all mutants, in order; ``on_result`` is called after each."""
        for _ in range(PROCESSES - self._idle.qsize()):
            self._idle.put(self._make())

        def try_one(mutant: Mutant) -> MutantResult:
            process = self._idle.get()
            result = process.run(mutant)
            if result is MutantResult.TIMED_OUT:
                process.end()
                process = self._make()
            self._idle.put(process)
            on_result()
            return result

        with ThreadPoolExecutor(PROCESSES) as threads:
            return list(threads.map(try_one, mutants))
