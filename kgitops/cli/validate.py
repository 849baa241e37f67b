"""``kgitops validate``: the manifests alone, no cluster."""

from kgitops.cli.options import ClusterName, Paths


def validate(paths: Paths = None, cluster: ClusterName = None) -> None:
    """Check manifests without a cluster: schema, references, duplicates, Kafka's own rules.

    Example: kgitops validate examples/quickstart
    """
    from kgitops.cli.console import print_notice, print_result
    from kgitops.cli.selecting import make_selection
    from kgitops.workflow.pipeline import load_desired
    from kgitops.workflow.selection import open_workspace

    selection = make_selection(paths, cluster)
    workspace = open_workspace(selection)
    desired = load_desired(workspace, selection)
    for warning in desired.warnings:
        print_notice(str(warning))
    counts = {
        "topics": len(desired.topics),
        "ACL bindings": len(desired.acls),
        "quotas": len(desired.quotas),
        "tombstones": len(desired.tombstones),
    }
    print_result(f"Valid: {', '.join(f'{count} {name}' for name, count in counts.items())}.")
