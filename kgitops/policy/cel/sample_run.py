"""Runs a policy's expressions on sample requests: what fails there would fail on real ones."""

from collections.abc import Iterator

from kgitops.model.source import Finding
from kgitops.policy.cel.compiler import CompiledExpression, CompiledPolicy, policy_finding
from kgitops.policy.cel.engine import EvaluationError, evaluate
from kgitops.policy.cel.evaluation_context import EvaluationContexts, reads_object
from kgitops.policy.cel.nodes import Name, walk
from kgitops.policy.cel.problems import Problem
from kgitops.policy.cel.records.variables import ROOTS
from kgitops.policy.cel.samples import samples
from kgitops.policy.cel.types import BOOL, STRING
from kgitops.policy.evaluate.bundle import CelPolicy


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
