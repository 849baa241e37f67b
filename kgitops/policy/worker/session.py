"""Judges in a worker process: a policy that breaks its limits denies, and the others continue."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, KgitopsError, UnreachableError
from kgitops.model.requests import Request, request_address
from kgitops.model.source import Finding
from kgitops.policy.api.requests import Principal
from kgitops.policy.evaluate.bundle import Policy, RequestRulings, Waiver
from kgitops.policy.worker.messages import (
    Begin,
    Close,
    Load,
    UseBrokerConfigs,
    VerdictCodec,
    Work,
    decode_findings,
)
from kgitops.policy.worker.process import Limits, LimitViolation, LimitViolations, Process
from kgitops.policy.worker.process_setup import MEMORY_IS_LIMITED

_BATCH = 200
_ON_THEIR_WAY = 4 * _BATCH
_log = logging.getLogger(__name__)


class WorkerEvaluator:
    """Implements ``PolicyEvaluator``; the process starts at once and loads the policies.

    It serves one thread at a time. A process that was stopped is replaced by another, which loads
    the policies again and gets the state of the cluster as the first one had it.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        waivers: Sequence[Waiver] = (),
        limits: Limits = Limits(),  # noqa: B008 (it is a value)
        *,
        hidden_env: frozenset[str] = frozenset(),
    ) -> None:
        """Take policies that aren't off, and the waivers that hold today.

        The process does not get the environment variables in ``hidden_env``.

        Raises:
            KgitopsError: the process can't be started.
        """
        self._policies = tuple(policies)
        self._waivers = tuple(waivers)
        self._limits = limits
        self._hidden_env = hidden_env
        self._codec = VerdictCodec(self._policies, self._waivers)
        self._violations = LimitViolations(self._policies, limits)
        self._asked = 0  # the number of requests so far, which is that of the next one
        self._closed = False
        self._failure: KgitopsError | None = None
        if not MEMORY_IS_LIMITED:
            _log.info("the memory of policies is not limited on this system")
        self._start()

    @property
    def sound(self) -> bool:
        """True if no policy has broken a limit, and the process can continue."""
        return self._failure is None and not self._violations.happened

    def begin(self, state: ClusterState, *, principal: str) -> None:
        """Judge from now on for ``principal``, on ``state``.

        Raises:
            FindingsError: a policy can't be loaded.
            KgitopsError: the process failed, and no policy is to blame.
        """
        Principal.parse(principal)
        self._state, self._principal = state, principal
        self._accepted: list[Request] = []
        self._show()

    def judge(
        self, request: Request, *, broker_configs: Mapping[str, str] | None = None
    ) -> RequestRulings:
        """Judge the request; errors as of ``begin``.

        Raises:
            UnreachableError: the part of the state that a policy asked for can't be read.
        """
        return self._judged([request], broker_configs, accepting=False)[0]

    def accept(self, request: Request) -> None:
        """Count the request as carried out; the process learns it with the next message."""
        self._accepted.append(request)

    def judge_all(self, requests: Sequence[Request]) -> Sequence[RequestRulings]:
        """Judge one after another, and accept each that nothing stops; errors as of ``judge``."""
        return self._judged(requests, None, accepting=True)

    def close(self) -> None:
        """Close the policies, once, if they have ever been asked; what hangs is killed."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._loaded:
                self._process.send(Close())
                # After an interrupt there may be answers that were never read.
                while self._process.answer(self._limits.closing_seconds) != ["closed"]:
                    pass
        except LimitViolation as violation:
            _log.warning(
                "%s %s while it was closed", self._violations.culprit(violation), violation.what
            )
        finally:
            self._process.kill()

    # The process

    def _start(self) -> None:
        self._process = Process(self._limits, self._hidden_env)
        self._loaded = False
        self._in_step = False
        self._shown: ClusterState | None = None
        self._configs: Mapping[str, str] | None = None
        self._last: Request | None = None
        self._process.send(
            Load(
                policies=self._policies,
                waivers=self._waivers,
                banned=self._violations.banned,
                memory=self._limits.memory,
                verbose=_log.isEnabledFor(logging.DEBUG),
            )
        )

    def _wait_until_loaded(self) -> None:
        try:
            findings = decode_findings(self._process.answer(self._limits.loading_seconds)[1])
        except LimitViolation as violation:
            if not self._violations.has_culprit(violation):
                self._give_up(violation)
            policy = self._policies[violation.policy]
            problem = f"the policy {policy.name!r} can't be loaded: it {violation.what}"
            findings = [Finding(source=policy.source, problem=problem, advice="correct it")]
        if findings:
            self._fail(FindingsError(findings))
        self._loaded = True

    def _show(self) -> None:
        """Send the state to the process, and forget what was sent since."""
        if self._failure is not None:
            raise self._failure
        if not self._loaded:
            self._wait_until_loaded()
        same = self._shown is self._state
        self._process.send(Begin(None if same else self._state, self._principal))
        self._shown = self._state
        self._told = 0
        self._in_step = True

    # Judging

    def _judged(
        self,
        requests: Sequence[Request],
        broker_configs: Mapping[str, str] | None,
        *,
        accepting: bool,
    ) -> list[RequestRulings]:
        first = self._asked
        self._asked += len(requests)
        judged: list[RequestRulings] = []
        failed: dict[int, dict[int, str]] = {}
        while len(judged) < len(requests):
            if not self._in_step:
                self._show()
            self._in_step = False  # until all that is sent is answered
            try:
                self._tell(broker_configs)
                for rulings in self._answered(requests, len(judged), first, failed, accepting):
                    if accepting and not rulings.stops:
                        self._accepted.append(requests[len(judged)])
                        self._told += 1
                    judged.append(rulings)
                self._in_step = True
            except LimitViolation as violation:
                self._retry_without(violation, requests, first, failed)
        return judged

    def _tell(self, broker_configs: Mapping[str, str] | None) -> None:
        if broker_configs != self._configs:
            self._configs = None if broker_configs is None else dict(broker_configs)
            self._process.send(UseBrokerConfigs(self._configs))

    def _answered(
        self,
        requests: Sequence[Request],
        done: int,
        first: int,
        failed: Mapping[int, Mapping[int, str]],
        accepting: bool,
    ) -> Iterator[RequestRulings]:
        """The rulings from request ``done`` on; meanwhile more requests are sent."""
        sent = done
        while done < len(requests):
            while sent < len(requests) and sent - done < _ON_THEIR_WAY:
                batch = requests[sent : sent + _BATCH]
                self._process.send(
                    Work(
                        first=first + sent,
                        accepted=[
                            None if request is self._last else request
                            for request in self._accepted[self._told :]
                        ],
                        requests=batch,
                        accepting=accepting,
                        failed=failed,
                    )
                )
                self._told = len(self._accepted)
                self._last = batch[-1]
                sent += len(batch)
            for rulings in self._received(first + done):
                yield rulings
                done += 1

    def _received(self, number: int) -> Sequence[RequestRulings]:
        """The next answer, which begins with the rulings on the request of this number."""
        while True:
            answer = self._process.answer(self._limits.seconds)
            try:
                kind, first, written = answer
                if kind in ("judged", "unreadable") and first < number:
                    continue  # of a call that was interrupted
                if kind == "judged" and first == number:
                    return [self._codec.decode(item) for item in written]
            except (TypeError, ValueError, IndexError):
                kind = written = None
            if kind == "unreadable" and isinstance(written, str):
                self._last = None  # it may not have come that far
                raise UnreachableError(written)
            raise self._process.nonsense()

    # What goes wrong

    def _retry_without(
        self,
        violation: LimitViolation,
        requests: Sequence[Request],
        first: int,
        failed: dict[int, dict[int, str]],
    ) -> None:
        """Let the policy at work deny that request, and start a new process."""
        position = violation.request - first
        if not (self._violations.has_culprit(violation) and 0 <= position < len(requests)):
            self._give_up(violation)
        why = self._violations.record(violation, request_address(requests[position]))
        _log.info("%s", why)
        if self._violations.too_many:
            self._give_up(violation)
        failed.setdefault(violation.request, {})[violation.policy] = why
        self._process.kill()
        self._start()

    def _give_up(self, violation: LimitViolation) -> NoReturn:
        self._fail(
            KgitopsError(
                f"the process that runs the policies {violation.what}; look for a policy that "
                "closes files or starts threads, processes or timers, and run with --log-level "
                "debug"
            )
        )

    def _fail(self, error: KgitopsError) -> NoReturn:
        """Raise this error now and at every later call: without the policies nothing is judged."""
        self._process.kill()
        self._loaded = False
        self._failure = error
        raise error
