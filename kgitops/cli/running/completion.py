"""What a shell completes beyond commands, options and files."""

import os
from pathlib import Path

from kgitops.model.errors import KgitopsError


def complete_cluster(incomplete: str) -> list[str]:
    """The clusters of the project here that begin with what is typed."""
    from kgitops.manifests.project.values import load_project

    try:
        names = load_project(Path(), env=os.environ).cluster_names
    except KgitopsError:
        names = ()
    return [name for name in (*names, "embedded:") if name.startswith(incomplete)]


def complete_kind(incomplete: str) -> list[str]:
    """The kinds of document that begin with what is typed."""
    from kgitops.manifests.kind_models import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def complete_policy(incomplete: str) -> list[str]:
    """The policies of the project here that begin with what is typed."""
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.policies.policies import load_policies
    from kgitops.workflow.project.selection import open_workspace

    try:
        policies = load_policies(open_workspace(make_selection((), None, offline=True))).policies
    except KgitopsError:
        policies = ()
    return [policy.name for policy in policies if policy.name.startswith(incomplete)]
