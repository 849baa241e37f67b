"""Runs every policy over every request; collects, never raises."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.asked import Asked, ask
from kgitops.policy.cluster_state import ClusterState as PolicyClusterState
from kgitops.policy.judgement import Judgement, Outcome, Ruling, fingerprint
from kgitops.policy.principal import Principal
from kgitops.policy.rule import Rule
from kgitops.policy.rules import Waiver
from kgitops.policy.waiving import waived
from kgitops.policy.world import World

_log = logging.getLogger(__name__)


class Judge:
    """Implements ``judging.Judging`` in this process, with no limit on time or memory."""

    def __init__(self, rules: Sequence[Rule], waivers: Sequence[Waiver] = ()) -> None:
        """Take rules that are loaded, and the waivers that hold today."""
        self._rules = tuple(rules)
        self._waivers = tuple(waivers)
        self._passed = {
            rule.name: Ruling(policy=rule.name, level=rule.level, outcome=Outcome.PASSED)
            for rule in self._rules
        }
        self._closed = False

    def begin(self, state: ClusterState, *, principal: str) -> None:
        """Judge from now on for ``principal``, on ``state``."""
        self._world = World(state)
        self._cluster = PolicyClusterState(self._world)
        self._principal = Principal.parse(principal)

    def judge(
        self, request: Request, *, broker_configs: Mapping[str, str] | None = None
    ) -> Judgement:
        """What the policies say of ``request``."""
        asked = ask(request, self._principal, self._world, broker_configs)
        cluster = self._cluster
        if broker_configs is not None:
            cluster = PolicyClusterState(self._world, broker_configs)
        rulings: list[Ruling] = []
        for rule in self._rules:
            rulings += self._rulings(rule, asked, cluster)
        return Judgement(waived(rulings, asked.address, self._waivers))

    def accept(self, request: Request) -> None:
        """``request`` is going to be carried out."""
        self._world.accept(request)

    def judge_all(self, requests: Sequence[Request]) -> Sequence[Judgement]:
        """Judge one after another, and accept each that nothing stops."""
        return list(self._judge_all(requests))

    def close(self) -> None:
        """Close the policies, once; a failure of one is logged and hides no other."""
        if self._closed:
            return
        self._closed = True
        for rule in self._rules:
            try:
                rule.close()
            except Exception:  # noqa: BLE001 (a policy may raise anything)
                _log.exception("the policy %s could not be closed", rule.name)

    def _judge_all(self, requests: Sequence[Request]) -> Iterator[Judgement]:
        for request in requests:
            judgement = self.judge(request)
            if not judgement.stops:
                self.accept(request)
            yield judgement

    def _rulings(self, rule: Rule, asked: Asked, cluster: PolicyClusterState) -> Sequence[Ruling]:
        try:
            if not rule.judges(asked):
                return ()
            violations = rule.check(asked, cluster)
        except Exception as error:  # noqa: BLE001 (a policy may raise anything, and then it denies)
            _log.warning("the policy %s failed on %s", rule.name, asked.address, exc_info=True)
            return (crash(rule, f"the policy failed: {type(error).__name__}: {error}"),)
        if not violations:
            return (self._passed[rule.name],)
        return [
            Ruling(
                policy=rule.name,
                level=rule.level,
                outcome=Outcome.DENIED,
                message=violation.message,
                field=violation.field,
                fingerprint=fingerprint(rule.name, asked.address, violation.message),
            )
            for violation in violations
        ]


def crash(rule: Rule, message: str) -> Ruling:
    """A policy that can't say yes says no (P201-67, P201-68)."""
    return Ruling(
        policy=rule.name,
        level=rule.level,
        outcome=Outcome.DENIED,
        message=message,
        crashed=True,
    )
