"""The policies of a run: read wherever the project has them, given their levels, and opened.

They judge every run of a project, also one that loads a part of it or applies a saved plan.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from kgitops.apply.settings import SystemClock
from kgitops.approval.waivers import ends_soon, why_not
from kgitops.desired.findings import without_env_values
from kgitops.manifests.load import JUDGING, Manifest, ManifestSet, load_manifests
from kgitops.manifests.policy import Policy as PolicyDocument
from kgitops.manifests.policy import Waiver as WaiverDocument
from kgitops.manifests.policy_values import cel_policy, waiver
from kgitops.manifests.problems import suggestion
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity, Source
from kgitops.policy.judging import Judging
from kgitops.policy.opening import open_judging
from kgitops.policy.rules import Bundle, Policy, PythonPolicy, Waiver
from kgitops.workflow.selection import ANONYMOUS, Workspace

_JUDGES = ("Policy", "Waiver")
_NOWHERE = ClusterState(cluster_id="", backend="", brokers=())


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a run, and who judges by them: nobody where there are none."""

    bundle: Bundle
    judging: Judging | None = None

    def wait(self) -> None:
        """Wait until the policies can judge: that takes a moment, in which other work gets done.

        Raises:
            FindingsError: some can't be loaded; it holds every finding.
        """
        if self.judging is not None:
            self.judging.begin(_NOWHERE, principal=ANONYMOUS)


def utc_day(moment: datetime) -> date:
    """The day on which waivers are looked at: the same one everywhere."""
    return moment.astimezone(UTC).date()


def load_policies(workspace: Workspace, manifests: ManifestSet | None = None) -> Bundle:
    """The policies that judge on the workspace's cluster, and the waivers that hold there today.

    They stand in the project file, in the files and folders that its ``policies`` name, and among
    its manifests. ``manifests`` are those that are loaded already; what is wrong with them is said
    by whoever loaded them.

    Raises:
        FindingsError: with every finding; without all of its policies nothing may be judged.
    """
    read = _Read()
    if manifests is not None:
        read.take(manifests)
    for more in _more(workspace, manifests, read.findings):
        read.take(more)
    policies = _at_their_levels(read, workspace)
    today = utc_day(SystemClock().now())
    waivers, warnings = _that_hold(read, policies, today)
    if any(finding.severity is Severity.ERROR for finding in read.findings):
        raise FindingsError(read.findings)
    return Bundle(
        policies=policies, waivers=waivers, today=today, warnings=(*read.findings, *warnings)
    )


@contextmanager
def opened(bundle: Bundle) -> Iterator[Policies]:
    """Who judges by ``bundle``, within a ``with`` block; see ``Policies.wait``.

    Raises:
        KgitopsError: the process that judges can't be started.
    """
    if not bundle:
        yield Policies(bundle)
        return
    judging = open_judging(bundle)
    try:
        yield Policies(bundle, judging)
    finally:
        judging.close()


@dataclass(slots=True)
class _Read:
    """What the documents say, each taken once, though a file may be below several paths."""

    findings: list[Finding] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=list)
    waivers: list[tuple[Waiver, Manifest]] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)
    _seen: set[object] = field(default_factory=set)

    def take(self, loaded: ManifestSet) -> None:
        """Take the policies and waivers of a set."""
        for manifest in loaded.manifests:
            if manifest.document.source in self._seen:
                continue
            self._seen.add(manifest.document.source)
            match manifest.declares:
                case PolicyDocument() as declared:
                    self.policies.append(cel_policy(declared, manifest.document))
                case WaiverDocument() as declared:
                    self.waivers.append((waiver(declared, manifest.document), manifest))
                case _:
                    pass
        self.elsewhere |= {
            manifest.declares.metadata.name
            for manifest in loaded.other_clusters
            if isinstance(manifest.declares, PolicyDocument)
        }


def _more(
    workspace: Workspace, manifests: ManifestSet | None, findings: list[Finding]
) -> Iterator[ManifestSet]:
    """What may hold policies besides the ``manifests`` that are loaded already."""
    file = workspace.file
    if file is None:
        return
    if file.policies:
        loaded = _load(workspace, file.policies, findings)
        findings += map(_stranger, _not_judging(loaded))
        yield loaded
    if manifests is None or tuple(workspace.manifests) != file.manifests:
        # A policy among the manifests that are left out judges those that are not.
        yield _load(workspace, file.manifests, findings, only=_JUDGES)


def _load(
    workspace: Workspace,
    paths: Sequence[Path],
    findings: list[Finding],
    only: Collection[str] = (),
) -> ManifestSet:
    loaded = load_manifests(
        paths,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=workspace.selection.environ,
        known_clusters=workspace.known_clusters,
        env_values=workspace.cluster.env_values,
        only=only,
    )
    findings += without_env_values(loaded.findings, loaded.env_values)
    return loaded


def _not_judging(loaded: ManifestSet) -> Iterator[Manifest]:
    for manifest in (*loaded.manifests, *loaded.other_clusters):
        if manifest.declares.kind not in JUDGING:
            yield manifest


def _stranger(manifest: Manifest) -> Finding:
    return Finding(
        source=manifest.document.at("kind"),
        problem=f"a {manifest.declares.kind} stands among the policies, so nothing would plan it",
        advice="move it to the manifests",
    )


def _at_their_levels(read: _Read, workspace: Workspace) -> tuple[Policy, ...]:
    """The policies in the order of their names, at the levels that they have on the cluster."""
    python = workspace.file.python_policies if workspace.file else ()
    policies: dict[str, Policy] = {}
    for policy in (*read.policies, *map(_described, python)):
        first = policies.setdefault(policy.name, policy)
        if first is not policy:
            read.findings.append(_twice(f"policy {policy.name}", policy.source, first.source))
    for name, (level, source) in workspace.cluster.policy_levels.items():
        if name in policies:
            policies[name] = replace(policies[name], level=level)
        elif name not in read.elsewhere:
            near = suggestion(name, list(policies))
            known = ", ".join(sorted(policies)) or "none"
            read.findings.append(
                Finding(
                    source=source,
                    problem=f"the project has no policy {name!r}",
                    advice=f"did you mean {near}?" if near else f"its policies are {known}",
                )
            )
    return tuple(policies[name] for name in sorted(policies))


def _that_hold(
    read: _Read, policies: Sequence[Policy], today: date
) -> tuple[tuple[Waiver, ...], tuple[Finding, ...]]:
    """The waivers that hold today, and warnings about them and the others."""
    levels = {policy.name: policy.level for policy in policies}
    first: dict[str, Waiver] = {}
    holding: list[Waiver] = []
    warnings: list[Finding] = []
    for item, manifest in read.waivers:
        if first.setdefault(item.name, item) is not item:
            read.findings.append(
                _twice(f"waiver {item.name}", item.source, first[item.name].source)
            )
        if item.policy in read.elsewhere and item.policy not in levels:
            continue  # it is for the clusters that the policy is for
        why = why_not(item, levels, today)
        soon = None if why else ends_soon(item, today)
        if why is None:
            holding.append(item)
        if said := why or soon:
            place, problem, advice = said
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


def _twice(what: str, source: Source | None, first: Source | None) -> Finding:
    return Finding(
        source=source,
        problem=f"the {what} stands here and at {first}",
        advice="rename or remove one of them",
    )


def _described(policy: PythonPolicy) -> PythonPolicy:
    """With what a class of kgitops' own pack says of itself; the project's were read already."""
    module, _, name = policy.class_.partition(":")
    if module.split(".")[:2] != ["kgitops", "policies"]:
        return policy
    try:
        class_ = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return policy  # loading it says what is wrong
    first_line = (getdoc(class_) or "").partition("\n")[0]
    return replace(
        policy,
        description=class_.description or first_line,
        remediation=class_.remediation,
    )
