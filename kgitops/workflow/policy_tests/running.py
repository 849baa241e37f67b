"""Runs cases: each request is judged on what the accepted ones before it left behind."""

from collections.abc import Iterator, Sequence

from kgitops.policy.api.principal import Principal
from kgitops.policy.evaluate.judgement import Outcome, Ruling
from kgitops.policy.evaluate.policy_input import ask
from kgitops.policy.evaluate.protocol import Judging
from kgitops.policy.state.simulated import World
from kgitops.workflow.policy_tests.cases import Case, Suite
from kgitops.workflow.policy_tests.comparing import Said, compare
from kgitops.workflow.policy_tests.given import StepError
from kgitops.workflow.policy_tests.report import CaseOutcome, Failure
from kgitops.workflow.policy_tests.results import CaseResult, Seen
from kgitops.workflow.policy_tests.steps import broker_configs_of, request_of


def run_case(case: Case, suite: Suite, judging: Judging) -> CaseResult:
    """Run one case; ``judging`` knows at least the policies that the suite asks."""
    judging.begin(case.state, principal=case.principal)
    run = _Run(case, suite, judging)
    said = list(run.judge_all())
    failures = (*run.failures, *compare(case, said))
    return CaseResult(
        outcome=CaseOutcome(name=case.name, source=case.source, failures=failures),
        seen=tuple(_seen(said)),
    )


class _Run:
    """The requests of a case, one after another."""

    def __init__(self, case: Case, suite: Suite, judging: Judging) -> None:
        self.failures: list[Failure] = []
        self._case = case
        self._asked = suite.asked
        self._judging = judging

    def judge_all(self) -> Iterator[Said]:
        world = World(self._case.state)
        principal = Principal.parse(self._case.principal)
        for number, step in enumerate(self._case.steps):
            try:
                request = request_of(step.written, world)
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
            judgement = self._judging.judge(request, broker_configs=configs)
            rulings = [item for item in judgement.rulings if item.policy in self._asked]
            asked = ask(request, principal, world, configs)
            for ruling in rulings:
                yield Said(number, step.source, asked.api, asked.address, ruling)
            if not any(ruling.outcome is Outcome.DENIED for ruling in rulings):
                self._judging.accept(request)
                world.accept(request)


def _seen(said: Sequence[Said]) -> Iterator[Seen]:
    """One for each policy and request, whatever number of validations denied."""
    together: dict[tuple[int, str], list[Said]] = {}
    for item in said:
        together.setdefault((item.number, item.ruling.policy), []).append(item)
    for items in together.values():
        rulings = [item.ruling for item in items]
        if not any(ruling.crashed for ruling in rulings):
            yield Seen(
                policy=rulings[0].policy,
                api=items[0].api,
                denied=any(_denied(ruling) for ruling in rulings),
                rules=frozenset(r.rule for r in rulings if _denied(r) and r.rule is not None),
            )


def _denied(ruling: Ruling) -> bool:
    return ruling.outcome is Outcome.DENIED
