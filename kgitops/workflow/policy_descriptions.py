"""Describes the project's policies, for ``policy list`` and ``policy explain``."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.wording import nearest
from kgitops.policy.evaluate.bundle import Bundle, CelPolicy, Level, Policy, Waiver
from kgitops.workflow.policies import load_policies
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy, SettingOf
from kgitops.workflow.policy_tests.mutants.pool import TrialPool
from kgitops.workflow.project.selection import Workspace


class PolicyDescription(Struct, frozen=True, kw_only=True):
    """A policy as it judges on ``cluster``; its ``default`` level is that of no cluster's own.

    ``levels`` are those on each cluster of the project, None where its settings can't be read.
    ``judges`` are the requests, empty for all, None where its class can't be loaded.
    ``waivers`` are those that hold on the cluster ``today``.
    """

    policy: Policy
    cluster: str
    default: Level
    levels: Mapping[str, Level | None]
    judges: tuple[str, ...] | None
    docstring: str = ""
    settings: tuple[SettingOf, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min

    @property
    def form(self) -> str:
        """The language that it is written in."""
        return "CEL" if isinstance(self.policy, CelPolicy) else "Python"

    @property
    def requests(self) -> str:
        """The requests that it judges, as a list in one text."""
        if self.judges is None:
            return "unknown: it can't be loaded"
        return ", ".join(self.judges) or "every request"

    def days_left(self, waiver: Waiver) -> int:
        """The days until the waiver ends, 0 on its last one."""
        return (waiver.expires - self.today).days


def describe_policies(workspace: Workspace) -> tuple[PolicyDescription, ...]:
    """Every policy of the project, in the order of their names.

    Raises:
        FindingsError: the policies can't be read.
        UsageError: there is no project.
    """
    if workspace.file is None:
        raise UsageError(
            "there is no kgitops.yaml here, which names the policies; run kgitops init, or name "
            "the project's folder"
        )
    bundle = load_policies(workspace)
    written = load_policies(
        replace(workspace, cluster=dataclasses.replace(workspace.cluster, policy_levels={}))
    )
    defaults = {policy.name: policy.level for policy in written.policies}
    anatomies = _anatomies(bundle.policies)
    return tuple(
        _described(policy, workspace, bundle, defaults[policy.name], anatomies.get(policy.name))
        for policy in bundle.policies
    )


def find_policy(name: str, described: Sequence[PolicyDescription]) -> PolicyDescription:
    """The policy of that name.

    Raises:
        UsageError: there is none.
    """
    by_name = {item.policy.name: item for item in described}
    if name in by_name:
        return by_name[name]
    near = nearest(name, list(by_name))
    names = ", ".join(by_name) or "none"
    advice = f"did you mean {near}?" if near else f"it has {names}"
    raise UsageError(f"the project has no policy {name!r}; {advice}")


def _described(
    policy: Policy,
    workspace: Workspace,
    bundle: Bundle,
    default: Level,
    anatomy: Anatomy | None,
) -> PolicyDescription:
    judges: tuple[str, ...] | None
    if isinstance(policy, CelPolicy):
        judges = policy.match.requests
    else:
        judges = None if anatomy is None else tuple(method.api for method in anatomy.methods)
    return PolicyDescription(
        policy=policy,
        cluster=workspace.target_name,
        default=default,
        levels=_levels(policy.name, default, workspace),
        judges=judges,
        docstring=anatomy.docstring if anatomy else "",
        settings=anatomy.settings if anatomy else (),
        waivers=tuple(waiver for waiver in bundle.waivers if waiver.policy == policy.name),
        today=bundle.today,
    )


def _levels(name: str, default: Level, workspace: Workspace) -> Mapping[str, Level | None]:
    levels: dict[str, Level | None] = {}
    if workspace.file is None:
        return levels
    for cluster in workspace.file.cluster_names:
        try:
            settings, _ = workspace.file.cluster(
                cluster, env=workspace.selection.environ, offline=True
            )
        except FindingsError:  # a run on that cluster reports them
            levels[cluster] = None
        else:
            levels[cluster] = Level(settings.policy_levels.get(name, default))
    return levels


def _anatomies(policies: Sequence[Policy]) -> Mapping[str, Anatomy]:
    """The anatomy of each Python policy that can be loaded; planning explains the others."""
    python = [policy for policy in policies if not isinstance(policy, CelPolicy)]
    if not python:
        return {}
    try:
        with TrialPool(python, ()) as pool:
            return pool.anatomies
    except KgitopsError:
        if len(python) == 1:
            return {}
        alone = [_anatomies([policy]) for policy in python]
        return {name: anatomy for found in alone for name, anatomy in found.items()}
