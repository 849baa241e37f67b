"""The documents and classes that a project's policies and waivers are read from."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.declared_lookalikes import warn_of_lookalikes
from kgitops.desired.findings import Findings, without_env_values
from kgitops.manifests.kind_models import POLICY_KINDS
from kgitops.manifests.load import Manifest, ManifestSet, load_manifests
from kgitops.manifests.policies.values import cel_policy, waiver
from kgitops.manifests.reading import NO_CACHE, ManifestCache
from kgitops.model.source import Finding
from kgitops.policy.evaluate.bundle import Policy, PythonPolicy, Waiver
from kgitops.workflow.project.project_root import find_sparse_folders
from kgitops.workflow.project.selection import Workspace

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
