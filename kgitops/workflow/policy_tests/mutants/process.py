"""The other side of a mutant process: waits for mutants, says what became of each."""

import logging
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection

from kgitops.policy.evaluate.rules import Policy
from kgitops.policy.worker.memory import limit_memory
from kgitops.policy.worker.supervising import supervise
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.mutants.mutants import Fate
from kgitops.workflow.policy_tests.mutants.trial import OutOfTimeError, Trial

_MEMORY = 1 << 30
"""A mutant that takes more bytes than this fails, and only it."""


def serve(
    connection: Connection,
    lifeline: Connection,
    owner: int,
    policies: Sequence[Policy],
    suites: Sequence[Suite],
) -> None:
    """The process's whole life: first the anatomies of the policies, then a fate per mutant.

    It ends, with all that policies started, when ``lifeline`` says so or the ``owner`` is gone.
    """
    supervise(lifeline.fileno(), owner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began the run stops it
    limit_memory(_MEMORY)
    logging.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what policies print is no result
    try:
        trial = Trial(policies, suites)
    except BaseException:  # noqa: BLE001 (a policy may raise anything)
        return  # whoever waits hears nothing: loading the policies for good says why
    connection.send(trial.anatomies)
    while (mutant := connection.recv()) is not None:
        try:
            fate = trial.fate(mutant)
        except OutOfTimeError:  # it rang once more on the way out
            fate = Fate.TIMED_OUT
        connection.send(fate)
