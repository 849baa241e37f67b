"""A policy in CEL as a rule, tried on samples first: what fails there would fail on real ones."""

import fnmatch
import re
from collections.abc import Iterator, Sequence

from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding
from kgitops.policy.api.interfaces import ClusterState, RuleViolation
from kgitops.policy.cel.compiler import (
    CompiledExpression,
    CompiledPolicy,
    CompiledValidation,
    compile_policy,
    policy_finding,
)
from kgitops.policy.cel.engine import EvaluationError, evaluate
from kgitops.policy.cel.evaluation_context import EvaluationContexts, reads_object
from kgitops.policy.cel.functions import BOOL, STRING
from kgitops.policy.cel.parser import Name, walk
from kgitops.policy.cel.problems import Problem
from kgitops.policy.cel.records.variables import ROOTS
from kgitops.policy.cel.samples import samples
from kgitops.policy.evaluate.bundle import CelPolicy
from kgitops.policy.evaluate.policy_input import PolicyInput
from kgitops.policy.evaluate.protocol import PolicyFailed


def run_samples(policy: CelPolicy, compiled: CompiledPolicy) -> Iterator[Finding]:
    """Make a finding of each expression that can't be evaluated on a request that it judges."""
    contexts = EvaluationContexts()
    contexts.add(compiled.references)
    reported: set[CompiledExpression] = set()
    for api in compiled.apis:
        for sample in samples(api, compiled.literals):
            context = contexts.of(sample.policy_input, sample.cluster)
            for expression, wrong in _tried(compiled, context, api):
                if expression not in reported:
                    reported.add(expression)
                    yield policy_finding(policy, expression.source, *wrong)


def _tried(
    compiled: CompiledPolicy, context: object, api: str
) -> Iterator[tuple[CompiledExpression, tuple[str, str]]]:
    judged = True
    for condition in compiled.conditions:
        answer, wrong = _try(condition, context, api)
        if wrong is not None:
            yield condition, wrong
        # What only names decide may be true of other requests of this kind.
        if answer is not True and reads_object(condition.root):
            judged = False
    if not judged:
        return
    for validation in compiled.validations:
        answer, wrong = _try(validation.expression, context, api)
        if wrong is not None:
            yield validation.expression, wrong
        if validation.message_expression is not None and answer is not True:
            _, wrong = _try(validation.message_expression, context, api)
            if wrong is not None:
                yield validation.message_expression, wrong


def _try(
    expression: CompiledExpression, context: object, api: str
) -> tuple[object, tuple[str, str] | None]:
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError as error:
        return None, _why(expression, error, api)
    if isinstance(answer, bool if expression.expected is BOOL else str):
        return answer, None
    needed = "text" if expression.expected is STRING else "true or false"
    problem = f"it gives {type(answer).__name__} where {needed} is needed {_in(api)}"
    return answer, (problem, "correct the expression")


def _why(
    expression: CompiledExpression, error: EvaluationError, api: str
) -> tuple[str, str] | None:
    """The problem of an expression for this kind of request; a missing key is fine."""
    problems = expression.problems[api]
    strong = [problem for problem in problems if not problem.weak]
    if strong:
        return f"{strong[0].text} {_in(api)}", "match other requests, or ask for request.api first"
    if error.kind_error:
        if problems:
            return _in_request(problems[0], api)
        return f"{error.text} {_in(api)}", "correct the expression"
    if any(isinstance(node, Name) and node.name in ROOTS for node in walk(expression.root)):
        return None
    return f"it can never be evaluated: {error.text}", "correct the expression"


def _in_request(problem: Problem, api: str) -> tuple[str, str]:
    return f"{problem.text} {_in(api)}", problem.advice


def _in(api: str) -> str:
    return f"in {'an' if api[0] in 'AEIOU' else 'a'} {api} request"


MAX_MESSAGE = 2_000
_MAX_SHOWN = 120


def load_cel(policy: CelPolicy, contexts: EvaluationContexts | None = None) -> "CelRule":
    """Load the policy.

    Policies that judge the same requests share ``contexts``, which saves most of the work.

    Raises:
        FindingsError: an expression is wrong; every finding, at its place.
    """
    compiled = compile_policy(policy)
    findings = tuple(run_samples(policy, compiled))
    if findings:
        raise FindingsError(findings)
    return CelRule(policy, compiled, EvaluationContexts() if contexts is None else contexts)


class CelRule:
    """Implements ``Rule`` for a ``kind: Policy`` document."""

    def __init__(
        self, policy: CelPolicy, compiled: CompiledPolicy, contexts: EvaluationContexts
    ) -> None:
        self.name = policy.name
        self.level = policy.level
        self._requests = frozenset(policy.match.requests)
        self._names = _patterns(policy.match.names)
        self._conditions = compiled.conditions
        self._validations = compiled.validations
        self._contexts = contexts
        contexts.add(compiled.references)

    def judges(self, policy_input: PolicyInput) -> bool:
        """True if the request and the object's name match; conditions are part of the check."""
        return (not self._requests or policy_input.api in self._requests) and (
            self._names is None or self._names.fullmatch(policy_input.name) is not None
        )

    def check(self, policy_input: PolicyInput, cluster: ClusterState) -> Sequence[RuleViolation]:
        """Make a violation of each validation that is false.

        Raises:
            PolicyFailed: an expression can't be evaluated; the sentence says which and why.
        """
        context = self._contexts.of(policy_input, cluster)
        if not _meet(self._conditions, context):
            return ()
        return [
            RuleViolation(
                message=_message(validation, context), field=validation.field, rule=number
            )
            for number, validation in enumerate(self._validations)
            if not _holds(validation.expression, context)
        ]

    def close(self) -> None:
        """Let go of the cluster."""
        self._contexts.release()


def _patterns(names: Sequence[str]) -> re.Pattern[str] | None:
    """Patterns of names with * and ?; [ is an ordinary character. No pattern can take long."""
    if not names:
        return None
    return re.compile("|".join(fnmatch.translate(name.replace("[", "[[]")) for name in names))


def _meet(conditions: Sequence[CompiledExpression], context: object) -> bool:
    """True if all are true; one that is false decides, even where another can't be evaluated."""
    failed: PolicyFailed | None = None
    for condition in conditions:
        try:
            if not _holds(condition, context):
                return False
        except PolicyFailed as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return True


def _holds(expression: CompiledExpression, context: object) -> bool:
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError as error:
        raise PolicyFailed(f"{_shown(expression.text)} can't be evaluated: {error.text}") from error
    if not isinstance(answer, bool):
        raise PolicyFailed(
            f"{_shown(expression.text)} gives {answer!r:.40} where true or false is needed"
        )
    return answer


def _message(validation: CompiledValidation, context: object) -> str:
    return (
        _computed(validation.message_expression, context)
        or _line(validation.message or "")
        or f"this must be true: {_shown(validation.expression.text)}"
    )


def _computed(expression: CompiledExpression | None, context: object) -> str:
    """The value of the message's expression; empty if it gives no text, as in Kubernetes."""
    if expression is None:
        return ""
    try:
        answer = evaluate(expression.program, context)
    except EvaluationError:
        return ""
    return _line(answer) if isinstance(answer, str) else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE - 1]}…"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"
