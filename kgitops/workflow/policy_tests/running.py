"""Runs cases, without policies to find wrong requests and with them, and compares the outcomes."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kgitops.manifests.policies.policy_test import RequestStep
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.model.source import Source
from kgitops.policy.api.requests import ANONYMOUS, Principal
from kgitops.policy.evaluate.bundle import Outcome, Ruling
from kgitops.policy.evaluate.policy_input import build_input
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.state import SimulatedState
from kgitops.serve.patterns import compile_pattern
from kgitops.workflow.policy_tests.cases import Case, DocumentPath, Expected, StepError, Suite
from kgitops.workflow.policy_tests.report import CaseOutcome, Failure, RuleObservation
from kgitops.workflow.policy_tests.steps import broker_configs_of, request_of

_KINDS = tuple(name for name in RequestStep.__dataclass_fields__ if name != "labels")


def rehearse(
    steps: Sequence[RequestStep], state: ClusterState
) -> Iterator[tuple[DocumentPath, str | StepError]]:
    """Go through a case's requests without policies: each step's path with its address or problem.

    A topic or virtual cluster that the case itself creates or deletes exists later or not,
    depending on the policies, so requests on it are skipped.
    """
    simulated = SimulatedState(state)
    touched: set[str] = set()
    for index, step in enumerate(steps):
        kinds = [name for name in _KINDS if getattr(step, name)]
        if len(kinds) != 1:
            yield (index,), _not_one_kind()
            continue
        path = (index, _written(kinds[0]))
        try:
            request = request_of(step, simulated)
        except StepError as error:
            if error.path != ("name",) or getattr(step, kinds[0]).name not in touched:
                yield path, error
            continue
        yield path, build_input(request, ANONYMOUS, simulated, None).address
        if isinstance(request, req.CreateTopicRequest | req.DeleteTopicRequest):
            touched.add(request.topic)
        if isinstance(request, req.CreateVirtualClusterRequest | req.DeleteVirtualClusterRequest):
            touched.add(request.virtual_cluster)
        if not _removes_object(request):
            simulated.accept(request)


def _removes_object(request: req.Request) -> bool:
    if isinstance(request, req.AlterVirtualClusterRequest):
        return request.change is ChangeType.REMOVE
    return isinstance(request, req.DeleteTopicRequest | req.DeleteVirtualClusterRequest)


def _not_one_kind() -> StepError:
    return StepError(
        (),
        "a request has exactly one key next to labels",
        "write for example createTopic: {…}, each request as an item of the list",
    )


def _written(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


class ObservedRuling(Struct, frozen=True):
    """A ruling on the request at ``source``, which has this ``number`` in the case, from 0."""

    number: int
    source: Source
    api: str
    address: str
    ruling: Ruling


def compare(case: Case, rulings: Sequence[ObservedRuling]) -> Iterator[Failure]:
    """Find everything that is not as expected, each thing once."""
    explained: set[tuple[str, str]] = set()
    for expected in case.expect:
        if not any(_matches(expected, item) for item in rulings):
            explained.add((expected.address, expected.policy))
            yield _missing(expected, rulings)
    for item in rulings:
        place = item.address, item.ruling.policy
        if item.ruling.crashed:
            yield _crashed(item)
        elif item.ruling.outcome is not Outcome.DENIED or place in explained:
            continue
        elif item.ruling.policy in case.never:
            yield _never(item)
        elif not any(_matches(expected, item) for expected in case.expect):
            yield _unexpected(item)


def _matches(expected: Expected, item: ObservedRuling) -> bool:
    ruling = item.ruling
    return (
        (item.address, ruling.policy) == (expected.address, expected.policy)
        and ruling.outcome is expected.outcome
        and (expected.message is None or _is_found(expected.message, ruling.message))
    )


def _is_found(pattern: str, message: str) -> bool:
    """Return whether the pattern is found in the message, which may be any text of a policy."""
    text = message.encode(errors="replace").decode()
    return compile_pattern(pattern, capture=False).search(text) is not None


def _missing(expected: Expected, rulings: Sequence[ObservedRuling]) -> Failure:
    saying = f" with a message like /{expected.message}/" if expected.message else ""
    came = [
        _words(item.ruling)
        for item in rulings
        if (item.address, item.ruling.policy) == (expected.address, expected.policy)
    ]
    return Failure(
        source=expected.source,
        expected=f"{expected.policy}: {expected.address} {expected.outcome}{saying}",
        came="; ".join(dict.fromkeys(came)) or f"{expected.policy} does not judge this request",
        advice="" if came else "see which requests and names it matches",
    )


def _unexpected(item: ObservedRuling) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: {item.address} not denied",
        came=_words(item.ruling),
        advice=f"if it should be, add {{address: {_quoted(item.address)}, outcome: denied}} "
        "to expect",
    )


def _never(item: ObservedRuling) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: never denies here",
        came=f"{item.address} {_words(item.ruling)}",
    )


def _crashed(item: ObservedRuling) -> Failure:
    return Failure(
        source=item.source,
        expected=f"{item.ruling.policy}: {item.address} judged",
        came=item.ruling.message,
        advice="correct the policy: where it fails, it denies",
    )


def _words(ruling: Ruling) -> str:
    if ruling.outcome is not Outcome.DENIED:
        return str(ruling.outcome)
    if ruling.crashed:
        return ruling.message
    return f"denied: {ruling.message}" if ruling.message else "denied without a message"


def _quoted(address: str) -> str:
    return address if re.fullmatch(r"[\w/.-]+", address) else f'"{address}"'


def run_case(case: Case, suite: Suite, evaluator: PolicyEvaluator) -> CaseOutcome:
    """Run one case; ``evaluator`` has at least the policies that the suite asks."""
    evaluator.begin(case.state, principal=case.principal)
    run = _Run(case, suite, evaluator)
    rulings = list(run.judge_all())
    return CaseOutcome(
        name=case.name,
        source=case.source,
        failures=(*run.failures, *compare(case, rulings)),
        seen=tuple(_observations(rulings)),
    )


class _Run:
    """The requests of a case, one after another."""

    def __init__(self, case: Case, suite: Suite, evaluator: PolicyEvaluator) -> None:
        self.failures: list[Failure] = []
        self._case = case
        self._asked = suite.asked
        self._evaluator = evaluator

    def judge_all(self) -> Iterator[ObservedRuling]:
        simulated = SimulatedState(self._case.state)
        principal = Principal.parse(self._case.principal)
        for number, step in enumerate(self._case.steps):
            try:
                request = request_of(step.written, simulated)
            except StepError as error:
                self.failures.append(
                    Failure(
                        source=step.source,
                        expected="this request can be made",
                        came=error.problem,
                        advice="what was denied before it took no effect",
                    )
                )
                return
            configs = broker_configs_of(step.written)
            all_rulings = self._evaluator.judge(request, broker_configs=configs)
            rulings = [ruling for ruling in all_rulings if ruling.policy in self._asked]
            policy_input = build_input(request, principal, simulated, configs)
            for ruling in rulings:
                yield ObservedRuling(
                    number, step.source, policy_input.api, policy_input.address, ruling
                )
            if not any(ruling.outcome is Outcome.DENIED for ruling in rulings):
                self._evaluator.accept(request)
                simulated.accept(request)


def _observations(rulings_of_case: Sequence[ObservedRuling]) -> Iterator[RuleObservation]:
    """Make one observation of each policy and request, even if several validations denied."""
    together: dict[tuple[int, str], list[ObservedRuling]] = {}
    for item in rulings_of_case:
        together.setdefault((item.number, item.ruling.policy), []).append(item)
    for items in together.values():
        rulings = [item.ruling for item in items]
        if not any(ruling.crashed for ruling in rulings):
            yield RuleObservation(
                policy=rulings[0].policy,
                api=items[0].api,
                denied=any(_denied(ruling) for ruling in rulings),
                rules=frozenset(r.rule for r in rulings if _denied(r) and r.rule is not None),
            )


def _denied(ruling: Ruling) -> bool:
    return ruling.outcome is Outcome.DENIED
