"""Policies that stay open from unit to unit: configured and closed once in a process of Spark's.

A process judges many clusters, one after another, and shows each one to its policies. However it
ends, the process that runs the policies sees that its connection is closed, closes the policies,
and ends too: Spark's processes don't run Python's exit handlers.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from kgitops.model.errors import KgitopsError
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.policies import OpenPolicies, load_policies_from

MOST_OPEN = 4
"""Every project and cluster may have policies and levels of its own; each is a process."""


class EvaluatorPool:
    """The evaluators of the bundles that were used last."""

    def __init__(
        self, opening: Callable[[Bundle], PolicyEvaluator] = open_evaluator, most: int = MOST_OPEN
    ) -> None:
        self._opening = opening
        self._most = most
        self._lock = threading.Lock()
        self._idle: list[tuple[Bundle, PolicyEvaluator]] = []  # the last used is last
        self._process = os.getpid()

    @contextmanager
    def lend(self, bundle: Bundle) -> Iterator[OpenPolicies]:
        """Lend the policies of ``bundle`` within a ``with`` block, in place of ``policies.opened``.

        An evaluator in which a policy failed is closed at the end of the block, so that the next
        unit is judged as it would be alone.

        Raises:
            KgitopsError: the process that judges can't be started.
        """
        if not bundle:
            yield OpenPolicies(bundle)
            return
        key = replace(bundle, warnings=())
        evaluator = self._take(key) or self._open(bundle)
        try:
            yield OpenPolicies(bundle, evaluator)
        finally:
            self._give_back(key, evaluator)

    def close(self) -> None:
        """Close all that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, evaluator in idle:
            evaluator.close()

    def _open(self, bundle: Bundle) -> PolicyEvaluator:
        evaluator = self._opening(bundle)
        # Not before: handlers that are registered last run first, and the opener has one, too.
        atexit.unregister(self.close)
        atexit.register(self.close)
        return evaluator

    def _take(self, key: Bundle) -> PolicyEvaluator | None:
        with self._lock:
            if self._process != os.getpid():  # a fork may not speak with its parent's processes
                self._idle, self._process = [], os.getpid()
            for index, (bundle, evaluator) in enumerate(self._idle):
                if bundle == key:
                    del self._idle[index]
                    return evaluator
        return None

    def _give_back(self, key: Bundle, evaluator: PolicyEvaluator) -> None:
        if not _release_cluster(key, evaluator):
            evaluator.close()
            return
        with self._lock:
            self._idle.append((key, evaluator))
            too_many = self._idle[: -self._most]
            self._idle = self._idle[-self._most :]
        for _, oldest in too_many:
            oldest.close()


def _release_cluster(bundle: Bundle, evaluator: PolicyEvaluator) -> bool:
    """Release the last cluster, which may be large; true if the evaluator can be used again."""
    if not evaluator.sound:
        return False
    try:
        OpenPolicies(bundle, evaluator).wait()
    except KgitopsError:
        return False
    return True


EVALUATOR_POOL = EvaluatorPool()
"""The evaluators of this process."""


@contextmanager
def open_policies(
    paths: Sequence[Path], cluster: str, environ: Mapping[str, str]
) -> Iterator[OpenPolicies]:
    """Open the policies below ``paths`` alone for ``cluster``, within a ``with`` block.

    Raises:
        FindingsError: with every finding; some can't be loaded.
        KgitopsError: the process that judges can't be started.
    """
    with EVALUATOR_POOL.lend(
        load_policies_from(paths, cluster=cluster, environ=environ)
    ) as policies:
        policies.wait()
        yield policies
