"""Runs tests against one mutant after another; only in a process of its own."""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kgitops.model.errors import FindingsError
from kgitops.policy.evaluate.bundle import CelPolicy, Policy, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy, anatomy
from kgitops.workflow.policy_tests.mutants.mutants import Mutant, MutantResult

if TYPE_CHECKING:
    from kgitops.workflow.policy_tests.cases import Suite

SECONDS = 5.0
"""The processor time that one mutant may take: tests take far less, so beyond it there is an
endless loop."""


class OutOfTimeError(BaseException):
    """The mutant is in an endless loop. No policy's own ``except Exception`` may catch this."""


class _BrokenModuleError(Exception):
    """The mutant can't even be imported: no test could overlook it."""


class Trial:
    """The policies under test and their suites, ready for one mutant after another."""

    def __init__(self, policies: Sequence[Policy], suites: "Sequence[Suite]") -> None:
        self._policies = {policy.name: policy for policy in policies}
        self._suites = suites
        self._codes: dict[str, CodeType] = {}
        self.anatomies: Mapping[str, Anatomy] = {
            policy.name: anatomy(policy) for policy in policies if isinstance(policy, PythonPolicy)
        }

    def run(self, mutant: Mutant) -> MutantResult:
        """Try the mutant in the suites of those policies that are made of it."""
        with _alarm() as late:
            result = self._run(mutant)
        return MutantResult.TIMED_OUT if late else result

    def _run(self, mutant: Mutant) -> MutantResult:
        try:
            with self._in_place(mutant):
                for suite in self._suites:
                    if suite.policy in mutant.seen_in:
                        result = self._in_suite(suite, mutant)
                        if result is not MutantResult.SURVIVED:
                            return result
        except _BrokenModuleError:
            return MutantResult.CAUGHT
        return MutantResult.SURVIVED

    def _in_suite(self, suite: "Suite", mutant: Mutant) -> MutantResult:
        # Imported only where there are suites: a description of policies has none.
        from kgitops.workflow.policy_tests.running import run_case  # noqa: PLC0415

        policies = [self._policies[name] for name in sorted(suite.asked)]
        if mutant.policy is not None:
            policies = [mutant.policy if p.name == mutant.policy.name else p for p in policies]
        try:
            rules = load_rules([self._where_made(policy) for policy in policies])
        except FindingsError:
            # CEL that is checked and found wrong was never a policy; Python is, until it runs.
            is_cel = isinstance(mutant.policy, CelPolicy)
            return MutantResult.INVALID if is_cel else MutantResult.CAUGHT
        judge = InProcessEvaluator(rules)
        try:
            failed = any(run_case(case, suite, judge).failures for case in suite.cases)
        finally:
            judge.close()
        return MutantResult.CAUGHT if failed else MutantResult.SURVIVED

    def _where_made(self, policy: Policy) -> Policy:
        """The policy with the module that defines its class: others still have the class before."""
        if isinstance(policy, CelPolicy):
            return policy
        own = self.anatomies[policy.name].parts[-1]
        return replace(policy, class_=f"{own.module}:{own.class_name}")

    @contextmanager
    def _in_place(self, mutant: Mutant) -> Iterator[None]:
        """Replace the modules of the policies by new ones with the mistake, within the block."""
        if not mutant.module:
            yield
            return
        parts = {
            part.module: part for name in mutant.seen_in for part in self.anatomies[name].parts
        }
        before = {module: sys.modules[module] for module in parts}
        try:
            for module, part in parts.items():
                code = mutant.code if module == mutant.module else part.code
                self._make(module, part.file, code, keep=code is part.code)
            yield
        finally:
            sys.modules.update(before)

    def _make(self, name: str, file: str, code: str, *, keep: bool) -> None:
        compiled = self._codes.get(name) if keep else None
        if compiled is None:
            compiled = compile(code, file, "exec", dont_inherit=True)
            if keep:
                self._codes[name] = compiled
        before = sys.modules[name]
        module = ModuleType(name)
        for key in ("__file__", "__package__", "__path__", "__spec__", "__loader__"):
            if hasattr(before, key):
                setattr(module, key, getattr(before, key))
        sys.modules[name] = module
        try:
            exec(compiled, module.__dict__)  # noqa: S102 (the project's own code, changed a little)
        except Exception as error:
            raise _BrokenModuleError from error


@contextmanager
def _alarm() -> Iterator[list[bool]]:
    """Interrupt the block after a while, again and again; the list is not empty if it had to."""
    late: list[bool] = []

    def ring(_signal: int, _frame: object) -> None:
        late.append(True)
        raise OutOfTimeError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS / 10)
    try:
        with suppress(OutOfTimeError):
            yield late
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
