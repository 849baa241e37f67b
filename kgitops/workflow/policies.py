"""The policies of a run: read from all places of the project, set to their levels, and opened.

They judge every run of a project, also one that loads a part of it or applies a saved plan.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.apply.secrets import forbid_core_dumps
from kgitops.approval import expiry_notice, waiver_problem
from kgitops.desired.declared_lookalikes import warn_of_lookalikes
from kgitops.desired.findings import Findings, without_env_values
from kgitops.manifests.kind_models import POLICY_KINDS
from kgitops.manifests.load import Manifest, ManifestSet, load_manifests
from kgitops.manifests.policies.values import cel_policy, waiver
from kgitops.manifests.reading import NO_CACHE, ManifestCache
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.wording import nearest
from kgitops.plan.document.broker_validation import BROKER_POLICY
from kgitops.policy.evaluate.bundle import Bundle, Policy, PythonPolicy, Waiver
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.project.project_root import find_sparse_folders
from kgitops.workflow.project.selection import ANONYMOUS, Workspace

_JUDGES = ("Policy", "Waiver")
_USER = "User"


class ReadPolicies(Struct):
    """Policies and waivers of documents, each once, though a file may be below several paths."""

    findings: list[Finding] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=list)
    waivers: list[tuple[Waiver, Manifest]] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)
    _seen: set[object] = field(default_factory=set)

    def take(self, loaded: ManifestSet) -> None:
        """Take the policies and waivers of a set."""
        for manifest in loaded.manifests:
            if manifest.declares.kind not in _JUDGES or manifest.document.source in self._seen:
                continue  # a fleet has millions of others
            self._seen.add(manifest.document.source)
            declared = manifest.declares
            match declared.kind:
                case "Policy":
                    self.findings += _shows_secrets(manifest)
                    self.policies.append(cel_policy(declared, manifest.document))
                case "Waiver":
                    self.waivers.append((waiver(declared, manifest.document), manifest))
                case _:
                    pass
        self.elsewhere |= loaded.other_policies
        self.elsewhere |= {
            manifest.declares.metadata.name
            for manifest in loaded.other_clusters
            if manifest.declares.kind == "Policy"
        }


def _shows_secrets(manifest: Manifest) -> Iterator[Finding]:
    """Report a policy with values of the environment: reports print messages and expressions."""
    document = manifest.document
    if "${env:" in document.file.text[document.start : document.end]:
        name = document.written("metadata", "name")
        yield Finding(
            source=document.at("spec"),
            problem=f"the policy {name} takes a value from the "
            "environment, where secrets are, and reports show what policies say",
            advice="write the value, or ${var:NAME} of the cluster's variables",
        )


def more_documents(
    workspace: Workspace, manifests: ManifestSet | None, findings: list[Finding]
) -> Iterator[ManifestSet]:
    """Load the other documents that may be policies, next to ``manifests``, which are loaded."""
    file = workspace.file
    if file is None:
        return
    if file.policies:
        loaded = _load(workspace, file.policies, findings, may_be_empty=True)
        findings += _unfit(loaded, file.policies)
        findings += _lookalikes(loaded)
        yield loaded
    if manifests is None or tuple(workspace.manifests) != file.manifests:
        # A policy among the manifests that are left out judges those that are not. A project of
        # policies alone has no manifests.
        yield _load(workspace, file.existing_manifests, findings, only=_JUDGES)


def password_variables(workspace: Workspace, manifests: ManifestSet | None) -> frozenset[str]:
    """The environment variables that hold passwords, as the project's users name them."""
    if manifests is None and workspace.file is not None:
        paths = workspace.file.existing_manifests
        manifests = _load(workspace, paths, [], only=(_USER,))  # others report what is wrong
    found: set[str] = set()
    for manifest in manifests.manifests if manifests else ():
        declared = manifest.declares
        if declared.kind == "User":
            sources = (item.password.env for item in declared.spec.scram)
            found.update(name for name in sources if name is not None)
    return frozenset(found)


def _load(
    workspace: Workspace,
    paths: Sequence[Path],
    findings: list[Finding],
    only: Collection[str] = (),
    *,
    may_be_empty: bool = False,
) -> ManifestSet:
    loaded = load_manifests(
        paths,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=workspace.selection.environ,
        known_clusters=workspace.known_clusters,
        env_values=workspace.cluster.env_values,
        only=only,
        may_be_empty=may_be_empty,
        cache=workspace.selection.cache,
    )
    findings += without_env_values(loaded.findings, loaded.env_values)
    return loaded


def documents_beside(
    paths: Sequence[Path],
    findings: list[Finding],
    *,
    cluster: str,
    environ: Mapping[str, str],
    cache: ManifestCache = NO_CACHE,
) -> ManifestSet:
    """The policies and waivers that stand below ``paths``, which belong to no project.

    They may name any cluster of a fleet, so a name that a project doesn't know is no mistake.
    """
    loaded = load_manifests(
        paths, cluster=cluster, variables={}, env=environ, known_clusters=None, cache=cache
    )
    findings += without_env_values(loaded.findings, loaded.env_values)
    findings += _unfit(loaded, paths)
    findings += _lookalikes(loaded)
    return loaded


def _unfit(loaded: ManifestSet, paths: Sequence[Path]) -> Iterator[Finding]:
    """Report documents of policies' ``paths`` that judge nothing, and signs that some are missing.

    A missing policy would let pass what it denies.
    """
    for manifest in (*loaded.manifests, *loaded.other_clusters):
        if manifest.declares.kind not in POLICY_KINDS:
            yield Finding(
                source=manifest.document.at("kind"),
                problem=f"a {manifest.declares.kind} is among the policies, so nothing would plan "
                "it",
                advice="move it to the manifests",
            )
    for empty in dict.fromkeys((*loaded.empty_folders, *find_sparse_folders(paths))):
        yield Finding(source=None, problem=empty.problem, advice=empty.advice)


def _lookalikes(loaded: ManifestSet) -> tuple[Finding, ...]:
    """Warn of names in policies and waivers that are easily taken for others."""
    findings = Findings()
    declared = [(item.declares, item.document) for item in loaded.manifests]
    warn_of_lookalikes(declared, findings)
    return without_env_values(findings.found, loaded.env_values)


def described(policy: PythonPolicy) -> PythonPolicy:
    """Add the description of a class of kgitops' own pack; the project's have theirs already."""
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
