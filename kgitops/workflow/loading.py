"""Loads and checks the selected documents, manifests and policies, without any cluster."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from kgitops.desired.build import build_desired
from kgitops.desired.selector import narrow_to_labels
from kgitops.desired.state import DesiredState
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Finding
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.workflow.policies.policies import OpenPolicies, load_policies, open_policies
from kgitops.workflow.project.project_root import PROJECT_FILE
from kgitops.workflow.project.selection import Workspace

T = TypeVar("T")

Opening = Callable[[Bundle], AbstractContextManager[OpenPolicies]]


OnStage = Callable[[str], None]
"""Called with the stage that begins: ``reading the cluster``."""


def ignore_stage(_stage: str) -> None:
    """Do nothing: no one watches the stages."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The desired state of the selected documents, and the policies that judge it."""

    desired: DesiredState
    policies: OpenPolicies


@contextmanager
def loaded(
    workspace: Workspace, on_stage: OnStage = ignore_stage, opening: Opening = open_policies
) -> Iterator[Loaded]:
    """Load the declarations within a ``with`` block: at its end the policies are closed.

    A fleet lends policies by an ``opening`` of its own, and keeps them open for the next unit.

    Raises:
        FindingsError: with every finding of every document; a policy can't be loaded.
        UsageError: there is nothing to load, or nothing has the selected labels.
    """
    if not workspace.manifests:
        raise UsageError(
            f"there is no {PROJECT_FILE} here and no PATH was given; run kgitops init, or name "
            "the files or folders to load"
        )
    selection = workspace.selection
    on_stage("loading the manifests")
    manifests = load_manifests(
        workspace.manifests,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=selection.environ,
        known_clusters=workspace.known_clusters,
        env_values=workspace.cluster.env_values,
        cache=selection.cache,
    )
    findings: list[Finding] = []
    bundle = _collecting(findings, lambda: load_policies(workspace, manifests))
    with opening(bundle or Bundle()) as policies:
        on_stage("checking the manifests")
        desired = _collecting(findings, lambda: _build(workspace, manifests))
        _collecting(findings, policies.wait)
        if desired is None or findings:
            raise FindingsError(findings)
        yield Loaded(desired, policies)


def _collecting(findings: list[Finding], load: Callable[[], T]) -> T | None:
    """The result of ``load``; None if it has findings, which are added."""
    try:
        return load()
    except FindingsError as error:
        findings += error.findings
        return None


def _build(workspace: Workspace, manifests: ManifestSet) -> DesiredState:
    desired = build_desired(
        manifests,
        project=workspace.project,
        whole=workspace.whole,
        targets=workspace.selection.targets,
        excludes=workspace.selection.excludes,
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
    )
    selector = workspace.selection.selector
    return narrow_to_labels(desired, selector) if selector else desired
