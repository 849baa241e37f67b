"""A policy in CEL as a rule."""

import fnmatch
import re
from collections.abc import Sequence

from kgitops.model.errors import FindingsError
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.cel.compiler import (
    CompiledExpression,
    CompiledPolicy,
    CompiledValidation,
    compile_policy,
)
from kgitops.policy.cel.engine import EvaluationError, evaluate
from kgitops.policy.cel.evaluation_context import EvaluationContexts
from kgitops.policy.cel.sample_run import run_samples
from kgitops.policy.evaluate.bundle import CelPolicy
from kgitops.policy.evaluate.policy_input import PolicyInput
from kgitops.policy.evaluate.protocol import PolicyFailed

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
