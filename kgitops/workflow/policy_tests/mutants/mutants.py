"""The mutants of the policies under test, and the results of trying them, as values."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.manifests.files import display_name
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import CelPolicy, Policy, PythonPolicy
from kgitops.policy.mutation.cel import cel_mutants
from kgitops.policy.mutation.expressions import Mutation, other_quantities
from kgitops.policy.mutation.python import python_mutants
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.report import MutationOutcome, Survivor

_NOWHERE = Source("?", 1, 1)


class Mutant(Struct, frozen=True, kw_only=True):
    """A mistake: another ``policy``, or other ``code`` of a ``module`` that policies are made of.

    ``seen_in`` are the policies under test that are made of it.
    """

    seen_in: tuple[str, ...]
    source: Source
    what: str
    excerpt: str
    policy: Policy | None = None
    module: str = ""
    code: str = ""


class MutantResult(StrEnum):
    """The result of trying a mutant; an INVALID one is not a policy, and no test could tell."""

    CAUGHT = "caught"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    INVALID = "invalid"


def outcome_of(mutants: Sequence[Mutant], results: Sequence[MutantResult]) -> MutationOutcome:
    """The totals of the results, without mutants that are not policies."""
    tried = [
        pair for pair in zip(mutants, results, strict=True) if pair[1] is not MutantResult.INVALID
    ]
    survivors = [mutant for mutant, result in tried if result is MutantResult.SURVIVED]
    return MutationOutcome(
        total=len(tried),
        caught=len(tried) - len(survivors),
        timed_out=sum(result is MutantResult.TIMED_OUT for _, result in tried),
        survivors=tuple(
            Survivor(source=mutant.source, what=mutant.what, excerpt=mutant.excerpt)
            for mutant in survivors
        ),
    )


def make_mutants(
    policies: Sequence[Policy], anatomies: Mapping[str, Anatomy], *, of_project: Collection[str]
) -> tuple[Mutant, ...]:
    """The mutants of all policies; code that several are made of is changed once for all.

    What a project names from an installed package has tests of its own, there: of such a policy
    only the configs are changed. A class that a test brings itself is what it tests.
    """
    together: dict[object, Mutant] = {}
    for policy in policies:
        for mutant in _mutants(policy, anatomies, is_of_project=policy.name in of_project):
            key = (mutant.module, mutant.code) if mutant.module else len(together)
            if before := together.get(key):
                names = dict.fromkeys((*before.seen_in, *mutant.seen_in))
                together[key] = replace(before, seen_in=tuple(names))
            else:
                together[key] = mutant
    return tuple(sorted(together.values(), key=lambda mutant: (mutant.source, mutant.what)))


def _mutants(
    policy: Policy, anatomies: Mapping[str, Anatomy], *, is_of_project: bool
) -> Iterator[Mutant]:
    if isinstance(policy, CelPolicy):
        for changed, change in cel_mutants(policy):
            place = policy.source or _NOWHERE
            yield _mutant(policy.name, place.file, change, policy=changed)
        return
    if is_of_project:
        yield from _of_configs(policy)
    for part in anatomies[policy.name].parts:
        if is_of_project and not _is_own(Path(part.file), policy):
            continue
        file = display_name(Path(part.file))
        for code, change in python_mutants(part.code, part.class_name):
            yield _mutant(policy.name, file, change, module=part.module, code=code)


def _is_own(file: Path, policy: PythonPolicy) -> bool:
    """True if the file is the project's; its folder may also hold an environment with packages."""
    folder = (policy.folder or Path()).resolve()
    return file.resolve().is_relative_to(folder) and "site-packages" not in file.parts


def _of_configs(policy: PythonPolicy) -> Iterator[Mutant]:
    for key, value in policy.configs.items():
        rest = {other: text for other, text in policy.configs.items() if other != key}
        changes: dict[str, dict[str, str]] = {f"config {key} removed": rest}
        for other in other_quantities(value):
            changes[f"{value} → {other}"] = {**policy.configs, key: other}
        for what, configs in changes.items():
            yield Mutant(
                seen_in=(policy.name,),
                source=policy.source or _NOWHERE,
                what=what,
                excerpt=f"{key}: {value}",
                policy=replace(policy, configs=configs),
            )


def _mutant(
    name: str,
    file: str,
    change: Mutation,
    *,
    policy: Policy | None = None,
    module: str = "",
    code: str = "",
) -> Mutant:
    return Mutant(
        seen_in=(name,),
        source=Source(file, change.line, change.column),
        what=change.what,
        excerpt=change.excerpt,
        policy=policy,
        module=module,
        code=code,
    )
