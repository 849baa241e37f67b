"""Runs every policy on every request in this process; collects, never raises."""

import logging
from collections.abc import Mapping, MutableSequence, Sequence

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.api.interfaces import ClusterState as PolicyClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.api.requests import Principal
from kgitops.policy.evaluate.bundle import (
    Outcome,
    RequestRulings,
    Ruling,
    Waiver,
    apply_waivers,
    fingerprint,
)
from kgitops.policy.evaluate.policy_input import PolicyInput, build_input
from kgitops.policy.evaluate.protocol import PolicyFailed, Rule
from kgitops.policy.importing import describe_exception, is_interrupt, truncate
from kgitops.policy.state import SimulatedState, lazy_parts

MOST_VIOLATIONS = 100
"""Of one policy about one request; further ones are left out, and the request is denied."""

_NONE: Mapping[int, str] = {}
_log = logging.getLogger(__name__)


class InProcessEvaluator:
    """Implements ``PolicyEvaluator`` in this process, with no limit on time or memory."""

    def __init__(
        self,
        rules: Sequence[Rule],
        waivers: Sequence[Waiver] = (),
        *,
        current_rule: MutableSequence[int] | None = None,
    ) -> None:
        """Take rules that are loaded, and the waivers that hold today.

        ``current_rule[0]`` is always the index of the rule that is at work, for a watching process.
        """
        self._rules = tuple(rules)
        self._waivers = tuple(waivers)
        self._current_rule = [0] if current_rule is None else current_rule
        self._passed = [
            Ruling(policy=rule.name, level=rule.level, outcome=Outcome.PASSED)
            for rule in self._rules
        ]
        # By the rules that passed, as bits: most requests share their rulings with many others.
        self._all_passed: dict[int, RequestRulings] = {}
        self._closed = False

    def begin(self, state: ClusterState, *, principal: str) -> None:
        """Judge from now on for ``principal``, on ``state``."""
        self._principal = Principal.parse(principal)
        self._simulated = SimulatedState(state)
        self._late = lazy_parts(state)
        self._cluster = self._unknown = PolicyClusterState(self._simulated)
        self._broker_configs: Mapping[str, str] | None = None

    def judge(
        self,
        request: Request,
        *,
        broker_configs: Mapping[str, str] | None = None,
        failed: Mapping[int, str] = _NONE,
    ) -> RequestRulings:
        """Judge the request; the policies in ``failed``, by index, have failed on it already.

        Raises:
            KgitopsError: the part of the state that a policy asked for can't be read.
        """
        policy_input = build_input(request, self._principal, self._simulated, broker_configs)
        cluster = self._as_seen_with(broker_configs)
        bits, denied = 0, False
        rulings: list[Ruling] = []
        for index, rule in enumerate(self._rules):
            self._current_rule[0] = index
            if index in failed:
                denied = True
                rulings.append(crash_ruling(rule, failed[index]))
                continue
            try:
                if not rule.judges(policy_input):
                    continue
                violations = rule.check(policy_input, cluster)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                denied = True
                rulings.append(self._failure(rule, policy_input, error))
                continue
            if violations:
                denied = True
                rulings += _denials(rule, policy_input.address, violations)
            else:
                bits |= 1 << index
                rulings.append(self._passed[index])
        for part in self._late:
            if part.failure is not None:
                raise part.failure  # whatever the policy that met with it made of it
        if denied:
            return apply_waivers(rulings, policy_input.address, self._waivers)
        if bits not in self._all_passed:
            self._all_passed[bits] = RequestRulings(tuple(rulings))
        return self._all_passed[bits]

    @property
    def sound(self) -> bool:
        """Always true: no failure here lasts."""
        return True

    def accept(self, request: Request) -> None:
        """Count the request as carried out."""
        self._simulated.accept(request)

    def judge_all(self, requests: Sequence[Request]) -> Sequence[RequestRulings]:
        """Judge one after another, and accept each that nothing stops."""
        all_rulings = []
        for request in requests:
            rulings = self.judge(request)
            if not rulings.stops:
                self.accept(request)
            all_rulings.append(rulings)
        return all_rulings

    def close(self) -> None:
        """Close the policies, once; a failure of one is logged and hides no other."""
        if self._closed:
            return
        self._closed = True
        for index, rule in enumerate(self._rules):
            self._current_rule[0] = index
            try:
                rule.close()
            except BaseException as error:
                if is_interrupt(error):
                    raise
                _log.warning(
                    "the policy %s could not be closed: %s", rule.name, describe_exception(error)
                )

    def _as_seen_with(self, broker_configs: Mapping[str, str] | None) -> PolicyClusterState:
        """The cluster with the configs of the node that evaluates, another one per node."""
        if broker_configs is None:
            return self._unknown
        if broker_configs != self._broker_configs:
            self._broker_configs = broker_configs
            self._cluster = PolicyClusterState(self._simulated, broker_configs)
        return self._cluster

    def _failure(self, rule: Rule, policy_input: PolicyInput, error: BaseException) -> Ruling:
        """The ruling of a policy that raised an exception: it denies (P201-67)."""
        if isinstance(error, PolicyFailed):
            why = f": {error}"
        else:
            why = f" with {describe_exception(error)}"
            _log.info("the policy %s failed on %s", rule.name, policy_input.address, exc_info=error)
        return crash_ruling(
            rule,
            f"the policy {rule.name} failed on {policy_input.address}{why}, so it denies; correct "
            "the policy",
        )


def crash_ruling(rule: Rule, message: str) -> Ruling:
    """The ruling of a policy that crashed: it denies (P201-67, P201-68)."""
    return Ruling(
        policy=rule.name,
        level=rule.level,
        outcome=Outcome.DENIED,
        message=truncate(message),
        crashed=True,
    )


def _denials(rule: Rule, address: str, violations: Sequence[RuleViolation]) -> list[Ruling]:
    rulings = []
    for violation in violations[:MOST_VIOLATIONS]:
        message = truncate(violation.message)
        rulings.append(
            Ruling(
                policy=rule.name,
                level=rule.level,
                outcome=Outcome.DENIED,
                message=message,
                field=None if violation.field is None else truncate(violation.field),
                fingerprint=fingerprint(rule.name, address, message),
                rule=violation.rule,
            )
        )
    if len(violations) > MOST_VIOLATIONS:
        # No waiver can be for what nobody sees.
        rulings.append(
            crash_ruling(
                rule,
                f"the policy {rule.name} denies {address} for {len(violations):,} reasons, of "
                f"which {MOST_VIOLATIONS} are shown; correct those first",
            )
        )
    return rulings
