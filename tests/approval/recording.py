"""Policies made of functions, and a plan judged by them in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from builders import ALL_CAPABILITIES

from kgitops.approval import judge_plan
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.planner import make_plan
from kgitops.policy.api.interfaces import ClusterState as PolicyClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.evaluate.bundle import Bundle, CelPolicy, Level, Waiver
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.policy_input import PolicyInput

TODAY = date(2026, 11, 21)

Says = Callable[[Any, PolicyClusterState], str | Sequence[str] | None]


@dataclass(slots=True)
class Rule:
    """A rule that says what its function says of a request; it remembers what it was asked."""

    name: str
    says: Says
    level: Level = Level.HARD
    part: str | None = None
    apis: frozenset[str] | None = None
    asked: list[PolicyInput] = field(default_factory=list)

    def judges(self, asked: PolicyInput) -> bool:
        return self.apis is None or asked.api in self.apis

    def check(self, asked: PolicyInput, cluster: PolicyClusterState) -> Sequence[RuleViolation]:
        self.asked.append(asked)
        said = self.says(asked.request, cluster)
        words = [said] if isinstance(said, str) else said or []
        return [RuleViolation(message=word, field=self.part) for word in words]

    def close(self) -> None:
        pass


def bundle_of(*rules: Rule, waivers: Sequence[Waiver] = (), today: date = TODAY) -> Bundle:
    """The bundle that a project would have with these rules."""
    policies = [
        CelPolicy(name=rule.name, level=rule.level, digest=f"sha256:{'0' * 64}") for rule in rules
    ]
    return Bundle(policies=tuple(policies), waivers=tuple(waivers), today=today)


def judged(
    desired: DesiredState, current: ClusterState, *rules: Rule, waivers: Sequence[Waiver] = ()
) -> Plan:
    """The plan with the words of these rules."""
    plan = make_plan(desired, current, target_name="local", capabilities=ALL_CAPABILITIES)
    bundle = bundle_of(*rules, waivers=waivers)
    return judge_plan(plan, InProcessEvaluator(rules, waivers), current, desired, bundle)


def a_waiver(
    policy: str = "no", address: str = "topic/orders", *, fingerprint: str | None = None,
    expires: date = TODAY, name: str = "w",
) -> Waiver:  # fmt: skip
    return Waiver(
        name=name,
        policy=policy,
        address=address,
        owner="data",
        reason="it is old",
        ticket="T-1",
        expires=expires,
        fingerprint=fingerprint,
    )


def change_of(plan: Plan, address: str) -> Change:
    return next(change for change in plan.changes if change.address == address)


def outcomes(plan: Plan, address: str = "topic/orders") -> list[tuple[str, str]]:
    """Policy and outcome of each row."""
    return [(row.policy, str(row.outcome)) for row in change_of(plan, address).policies]


def denied(plan: Plan) -> list[str]:
    """The addresses that are denied."""
    return [change.address for change in plan.changes if change.denied]


def warned(plan: Plan) -> list[str]:
    """What is said of waivers."""
    return [str(finding) for finding in plan.warnings if "waiver" in finding.problem]
