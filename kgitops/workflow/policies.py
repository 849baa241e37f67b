"""The policies of a run: read from all places of the project, set to their levels, and opened.

They judge every run of a project, also one that loads a part of it or applies a saved plan.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.secrets import forbid_core_dumps
from kgitops.approval import expiry_notice, waiver_problem
from kgitops.manifests.load import ManifestSet
from kgitops.manifests.reading import NO_CACHE, ManifestCache
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.wording import nearest
from kgitops.plan.document.broker_validation import BROKER_POLICY
from kgitops.policy.evaluate.bundle import Bundle, Policy, Waiver
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.policy_documents import (
    ReadPolicies,
    described,
    documents_beside,
    more_documents,
    password_variables,
)
from kgitops.workflow.project.selection import ANONYMOUS, Workspace

_NOWHERE = ClusterState(cluster_id="", backend="", brokers=())


class OpenPolicies(Struct, frozen=True):
    """The policies of a run, and the evaluator of them; None where there is no policy."""

    bundle: Bundle
    evaluator: PolicyEvaluator | None = None

    def wait(self) -> None:
        """Wait until the policies are loaded, which takes a moment in which other work can be done.

        Raises:
            FindingsError: some can't be loaded; it holds every finding.
        """
        if self.evaluator is not None:
            self.evaluator.begin(_NOWHERE, principal=ANONYMOUS)


def utc_day(moment: datetime) -> date:
    """The day for which waivers are checked: the same one everywhere."""
    return moment.astimezone(UTC).date()


def load_policies(workspace: Workspace, manifests: ManifestSet | None = None) -> Bundle:
    """Load the policies for the workspace's cluster, and the waivers that hold there today.

    They are in the project file, in the files and folders that its ``policies`` name, and among
    its manifests. ``manifests`` are those that are loaded already, with their findings reported.
    The policies of ``workspace.selection.policies`` judge, too, at the levels in their documents:
    no project file weakens them.

    Raises:
        FindingsError: with every finding; without all of its policies nothing may be judged.
    """
    read = ReadPolicies()
    if manifests is not None:
        read.take(manifests)
    for more in more_documents(workspace, manifests, read.findings):
        read.take(more)
    python = workspace.file.python_policies if workspace.file else ()
    own = _named((*read.policies, *map(described, python)), read.findings)
    own = _at_their_levels(own, read, workspace)
    selection, count = workspace.selection, len(read.policies)
    if selection.policies:
        beside = documents_beside(
            selection.policies,
            read.findings,
            cluster=workspace.target_name,
            environ=selection.environ,
            cache=selection.cache,
        )
        read.take(beside)
    bundle = _bundle(_named((*own.values(), *read.policies[count:]), read.findings), read)
    if not bundle:
        return bundle
    return replace(bundle, hidden_env=password_variables(workspace, manifests))


def load_policies_from(
    paths: Sequence[Path],
    *,
    cluster: str,
    environ: Mapping[str, str],
    cache: ManifestCache = NO_CACHE,
) -> Bundle:
    """Load the policies below ``paths`` alone, for ``cluster``, without any project.

    Raises:
        FindingsError: with every finding; without all of its policies nothing may be judged.
    """
    read = ReadPolicies()
    if paths:
        read.take(
            documents_beside(paths, read.findings, cluster=cluster, environ=environ, cache=cache)
        )
    return _bundle(_named(read.policies, read.findings), read)


def _bundle(policies: Mapping[str, Policy], read: ReadPolicies) -> Bundle:
    ordered = tuple(policies[name] for name in sorted(policies))
    read.findings += [_reserved(one) for one in ordered if one.name == BROKER_POLICY.name]
    today = utc_day(SystemClock().now())
    waivers, warnings = _holding_waivers(read, ordered, today)
    if any(finding.severity is Severity.ERROR for finding in read.findings):
        raise FindingsError(read.findings)
    return Bundle(
        policies=ordered, waivers=waivers, today=today, warnings=(*read.findings, *warnings)
    )


@contextmanager
def open_policies(bundle: Bundle) -> Iterator[OpenPolicies]:
    """Open an evaluator of the bundle, within a ``with`` block; see ``OpenPolicies.wait``.

    Raises:
        KgitopsError: the process that judges can't be started.
    """
    if not bundle:
        yield OpenPolicies(bundle)
        return
    if bundle.hidden_env:
        forbid_core_dumps()  # where the system has no Landlock, policies could read them in /proc
    evaluator = open_evaluator(bundle)
    try:
        yield OpenPolicies(bundle, evaluator)
    finally:
        evaluator.close()


def _named(policies: Iterable[Policy], findings: list[Finding]) -> dict[str, Policy]:
    """The policies by name; a name that two have is a finding."""
    named: dict[str, Policy] = {}
    for policy in policies:
        first = named.setdefault(policy.name, policy)
        if first is not policy:
            findings.append(_duplicate_name(f"policy {policy.name}", policy.source, first.source))
    return named


def _at_their_levels(
    policies: dict[str, Policy], read: ReadPolicies, workspace: Workspace
) -> dict[str, Policy]:
    """The policies at the levels that they have on the cluster."""
    # A policy that can't be read is not missing.
    stopped = any(finding.severity is Severity.ERROR for finding in read.findings)
    for name, (level, source) in workspace.cluster.policy_levels.items():
        if name in policies:
            policies[name] = replace(policies[name], level=level)
        elif name not in read.elsewhere and not stopped:
            near = nearest(name, list(policies))
            known = f"its policies are {', '.join(sorted(policies))}" if policies else "it has none"
            read.findings.append(
                Finding(
                    source=source,
                    problem=f"the project has no policy {name!r}",
                    advice=f"did you mean {near}?" if near else known,
                )
            )
    if workspace.file and workspace.target_name not in workspace.file.cluster_names:
        # A URL may name the very cluster that the project is strict on.
        for name, level in workspace.file.strictest_levels.items():
            if name in policies and policies[name].level.weaker_than(level):
                policies[name] = replace(policies[name], level=level)
    return policies


def _holding_waivers(
    read: ReadPolicies, policies: Sequence[Policy], today: date
) -> tuple[tuple[Waiver, ...], tuple[Finding, ...]]:
    """The waivers that hold today, and warnings about them and the others."""
    levels = {policy.name: policy.level for policy in policies}
    first: dict[str, Waiver] = {}
    holding: list[Waiver] = []
    warnings: list[Finding] = []
    for item, manifest in read.waivers:
        if first.setdefault(item.name, item) is not item:
            read.findings.append(
                _duplicate_name(f"waiver {item.name}", item.source, first[item.name].source)
            )
        if item.policy in read.elsewhere and item.policy not in levels:
            continue  # it is for the clusters that the policy is for
        problem_of = waiver_problem(item, levels, today)
        soon = None if problem_of else expiry_notice(item, today)
        if problem_of is None:
            holding.append(item)
        if notice := problem_of or soon:
            place, problem, advice = notice
            warnings.append(
                Finding(
                    source=manifest.document.at("spec", place),
                    problem=problem,
                    advice=advice,
                    severity=Severity.WARNING,
                )
            )
    return tuple(sorted(holding, key=lambda item: item.name)), tuple(
        sorted(warnings, key=lambda finding: finding.sort_key)
    )


def _reserved(policy: Policy) -> Finding:
    return Finding(
        source=policy.source,
        problem=f"reports name the brokers' own policies {policy.name}, so no other may be",
        advice="choose another name",
    )


def _duplicate_name(what: str, source: Source | None, first: Source | None) -> Finding:
    return Finding(
        source=source,
        problem=f"the {what} is here and at {first}",
        advice="rename or remove one of them",
    )
