"""The worker's own side: reads messages, lets the policies judge, writes answers.

A failure outside of a policy ends the process. The other side sees that, and the progress marker
tells it which policy was at work.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.requests import Request
from kgitops.policy.api.interfaces import ClusterState as PolicyClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.evaluate.bundle import Policy, Ruling
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.policy_input import PolicyInput
from kgitops.policy.evaluate.protocol import PolicyFailed, Rule
from kgitops.policy.loading import load_rules
from kgitops.policy.state import lazy_parts
from kgitops.policy.worker.messages import (
    BROKEN,
    HEADER,
    OUT_OF_MEMORY,
    Ban,
    Begin,
    Load,
    Message,
    ProgressMarker,
    UseBrokerConfigs,
    VerdictCodec,
    Work,
    encode_findings,
    from_bytes,
)
from kgitops.policy.worker.process_setup import (
    above_limit,
    enable_debug_log,
    end_with_supervisor,
    lift_limit,
    limit_memory,
    take_pipes,
)

_NONE: dict[int, str] = {}
_LARGE = 1 << 20
_log = logging.getLogger(__name__)


def serve(marker_file: int) -> None:
    """Serve the parent until it closes the session, or is gone."""
    messages, answers = take_pipes()
    end_with_supervisor()
    try:
        Worker(ProgressMarker(marker_file), messages, answers).run()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException:  # noqa: BLE001 (a policy's thread or alarm may raise anything here)
        _log.info("the worker broke", exc_info=True)
        os._exit(BROKEN)
    # Without waiting for threads that policies left behind.
    os._exit(0)


class Worker:
    """Reads and writes by file descriptor, as policies may close what Python holds."""

    def __init__(self, marker: ProgressMarker, messages: int, answers: int) -> None:
        self._marker = marker
        self._messages = messages
        self._answers = answers
        self._state: ClusterState | None = None
        self._broker_configs = UseBrokerConfigs(None)
        self._ahead = bytearray()
        self._last: Request | None = None
        self._pieces = 0

    def run(self) -> None:
        """Load, then judge until ``Close``; close also if the parent is gone."""
        load = self._receive()
        if not isinstance(load, Load):
            return
        if load.verbose:
            enable_debug_log()
        limit_memory(load.memory)
        judge = self._load(load)
        if judge is None:
            return
        while True:
            match self._receive():
                case Work() as work:
                    self._work(judge, work)
                case Begin() as begin:
                    lift_limit()
                    self._begin(judge, begin)
                    limit_memory(load.memory)
                case UseBrokerConfigs() as configs:
                    self._broker_configs = configs
                case _:
                    judge.close()
                    self._send(["closed"])
                    return

    def _load(self, load: Load) -> InProcessEvaluator | None:
        current_rule = self._marker.current_rule
        order = iter(range(len(load.policies)))

        def mark(_: Policy) -> None:
            current_rule[0] = next(order)

        try:
            rules = load_rules(load.policies, before=mark)
        except FindingsError as error:
            self._send(["loaded", encode_findings(error.findings)])
            return None
        self._marker.at_nothing()
        self._send(["loaded", []])
        self._codec = VerdictCodec(load.policies, load.waivers)
        heeded = [
            _BannedRule(rule, load.banned[index], self._marker) if index in load.banned else rule
            for index, rule in enumerate(rules)
        ]
        return _WorkerEvaluator(heeded, load.waivers, current_rule=current_rule)

    def _begin(self, judge: InProcessEvaluator, begin: Begin) -> None:
        self._state = begin.state or self._state
        if self._state is not None:
            for part in lazy_parts(self._state):
                part.load_within(self._reading)
            judge.begin(self._state, principal=begin.principal)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Count neither the time nor the memory of a reading for the policy that waits for it.

        Each piece of reading counts as a new time without an answer.
        """
        current_rule = self._marker.current_rule
        policy = current_rule[0]
        self._pieces += 1
        self._marker.at_nothing(self._pieces)
        try:
            with above_limit():
                yield
        finally:
            current_rule[0] = policy

    def _work(self, judge: InProcessEvaluator, work: Work) -> None:
        try:
            answer = ["judged", work.first, self._judged(judge, work)]
        except KgitopsError as error:
            answer = ["unreadable", work.first, str(error)]
        self._send(answer)
        self._marker.at_nothing()

    def _judged(self, judge: InProcessEvaluator, work: Work) -> list[object]:
        for accepted in work.accepted:
            carried_out = accepted or self._last
            if carried_out is not None:
                judge.accept(carried_out)
        answers: list[object] = []
        for number, request in enumerate(work.requests, work.first):
            self._marker.at_request(number)
            rulings = judge.judge(
                request,
                broker_configs=self._broker_configs.configs,
                failed=work.failed.get(number, _NONE),
            )
            if work.accepting and not rulings.stops:
                judge.accept(request)
            answers.append(self._codec.encode(rulings))
            self._last = request
        return answers

    def _receive(self) -> Message | None:
        """The next message; None where the parent has closed its end."""
        header = self._read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        (size,) = HEADER.unpack(header)
        if size < _LARGE:
            return from_bytes(self._read(size))
        with above_limit():  # a large state is not the policies' doing
            return from_bytes(self._read(size))

    def _read(self, size: int) -> bytes:
        """Read so many bytes, or fewer at the end; bytes beyond them are kept for the next call."""
        while len(self._ahead) < size:
            part = os.read(self._messages, max(size - len(self._ahead), 1 << 16))
            if not part:
                break
            self._ahead += part
        taken = bytes(self._ahead[:size])
        del self._ahead[:size]
        return taken

    def _send(self, answer: object) -> None:
        body = json.dumps(answer, separators=(",", ":")).encode()
        rest = memoryview(HEADER.pack(len(body)) + body)
        while rest:
            rest = rest[os.write(self._answers, rest) :]


class _WorkerEvaluator(InProcessEvaluator):
    """Gives up where memory has run out: nothing can be trusted then."""

    def _failure(self, rule: Rule, policy_input: PolicyInput, error: BaseException) -> Ruling:
        if isinstance(error, MemoryError):
            raise error
        return super()._failure(rule, policy_input, error)


class _BannedRule:
    """A policy that broke its limits too often: it is no longer asked."""

    def __init__(self, rule: Rule, ban: Ban, marker: ProgressMarker) -> None:
        self.name = rule.name
        self.level = rule.level
        self.judges = rule.judges
        self.close = rule.close
        self._rule = rule
        self._ban = ban
        self._marker = marker

    def check(
        self, policy_input: PolicyInput, cluster: PolicyClusterState
    ) -> Sequence[RuleViolation]:
        """Ask the policy about requests before the ban, which may be judged again.

        Raises:
            PolicyFailed: it is banned. Other exceptions are the policy's own.
        """
        request, _ = self._marker.place
        if request < self._ban.since:
            return self._rule.check(policy_input, cluster)
        raise PolicyFailed(self._ban.why)
