"""Which rules of the policies their tests made fire, and which they saw stay silent."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgitops.manifests.files import display_name
from kgitops.model.source import Source
from kgitops.policy.evaluate.rules import CelPolicy, Policy, PythonPolicy
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.report import Covered
from kgitops.workflow.policy_tests.results import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOf:
    """A rule: in CEL the validation with ``number``, in Python the method for ``api``.

    Several policies have it where tests configure one class in several ways.
    """

    policies: tuple[str, ...]
    name: str
    source: Source | None
    number: int | None = None
    api: str | None = None

    def judged(self, seen: Seen) -> bool:
        """Whether the rule was asked there."""
        return seen.policy in self.policies and self.api in (None, seen.api)

    def fired(self, seen: Seen) -> bool:
        """Whether it denied there."""
        return seen.denied if self.number is None else self.number in seen.rules


def cover(
    policies: Iterable[Policy],
    anatomies: Mapping[str, Anatomy],
    seen: Sequence[Seen],
    *,
    of_project: Collection[str],
) -> tuple[Covered, ...]:
    """What the tests saw of each rule of each policy.

    Those of ``policies`` that the project does not name are told together where they are of one
    class: tests configure it in several ways to see all of it.
    """
    return tuple(
        Covered(
            policy=rule.policies[0],
            rule=rule.name,
            source=rule.source,
            fired=any(rule.fired(item) for item in seen if rule.judged(item)),
            silent=any(not rule.fired(item) for item in seen if rule.judged(item)),
        )
        for alike in _alike(policies, of_project)
        for rule in _rules(alike, anatomies)
    )


def _alike(policies: Iterable[Policy], of_project: Collection[str]) -> Iterable[Sequence[Policy]]:
    together: dict[str, list[Policy]] = {}
    for policy in policies:
        key = policy.name
        if isinstance(policy, PythonPolicy) and policy.name not in of_project:
            key = policy.class_
        together.setdefault(key, []).append(policy)
    return together.values()


def _rules(policies: Sequence[Policy], anatomies: Mapping[str, Anatomy]) -> Iterator[RuleOf]:
    names = tuple(policy.name for policy in policies)
    match policies[0]:
        case CelPolicy(validations=validations, source=source):
            for number, validation in enumerate(validations):
                yield RuleOf(
                    policies=names,
                    name=f"validation {number + 1}",
                    source=validation.source or source,
                    number=number,
                )
        case PythonPolicy(name=name):
            for method in anatomies[name].methods:
                place = Source(display_name(Path(method.file)), method.line, 1)
                yield RuleOf(policies=names, name=method.api, source=place, api=method.api)
