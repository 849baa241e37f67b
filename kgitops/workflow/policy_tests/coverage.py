"""Which rules of the policies their tests made fire, and which they saw stay silent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgitops.manifests.files import display_name
from kgitops.model.source import Source
from kgitops.policy.rules import CelPolicy, Policy
from kgitops.report.policy_test_report import Covered
from kgitops.workflow.policy_tests.inspecting import Anatomy
from kgitops.workflow.policy_tests.results import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOf:
    """A rule: in CEL the validation with ``number``, in Python the method for ``api``."""

    policy: str
    name: str
    source: Source | None
    number: int | None = None
    api: str | None = None

    def judged(self, seen: Seen) -> bool:
        """Whether the rule was asked there."""
        return seen.policy == self.policy and self.api in (None, seen.api)

    def fired(self, seen: Seen) -> bool:
        """Whether it denied there."""
        return seen.denied if self.number is None else self.number in seen.rules


def cover(
    policies: Iterable[Policy], anatomies: Mapping[str, Anatomy], seen: Sequence[Seen]
) -> tuple[Covered, ...]:
    """What the tests saw of each rule of each policy."""
    return tuple(
        Covered(
            policy=rule.policy,
            rule=rule.name,
            source=rule.source,
            fired=any(rule.fired(item) for item in seen if rule.judged(item)),
            silent=any(not rule.fired(item) for item in seen if rule.judged(item)),
        )
        for policy in policies
        for rule in _rules(policy, anatomies)
    )


def _rules(policy: Policy, anatomies: Mapping[str, Anatomy]) -> Iterator[RuleOf]:
    if isinstance(policy, CelPolicy):
        for number, validation in enumerate(policy.validations):
            yield RuleOf(
                policy=policy.name,
                name=f"validation {number + 1}",
                source=validation.source or policy.source,
                number=number,
            )
        return
    for method in anatomies[policy.name].methods:
        place = Source(display_name(Path(method.file)), method.line, 1)
        yield RuleOf(policy=policy.name, name=method.api, source=place, api=method.api)
