"""What a shell completes beyond commands, options and files."""

import os
from pathlib import Path

from kgitops.model.errors import KgitopsError


def complete_cluster(incomplete: str) -> list[str]:
    """The clusters of the project here that begin with what is typed."""
    from kgitops.manifests.project import load_project

    try:
        names = load_project(Path(), env=os.environ).cluster_names
    except KgitopsError:
        names = ()
    return [name for name in (*names, "embedded:") if name.startswith(incomplete)]


def complete_kind(incomplete: str) -> list[str]:
    """The kinds of document that begin with what is typed."""
    from kgitops.manifests.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]
