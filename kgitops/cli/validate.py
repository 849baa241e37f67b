"""``kgitops validate``: the manifests alone, no cluster."""

from kgitops.cli.options import ClusterName, NoColor, Paths


def validate(paths: Paths = None, cluster: ClusterName = None, no_color: NoColor = False) -> None:
    """Check manifests without a cluster.

    Schema, references, duplicates, Kafka's own rules, and whether the policies can be loaded; each
    finding at FILE:LINE:COLUMN. What policies say of a change depends on the cluster: see plan.

    Example: kgitops validate examples/quickstart
    """
    from kgitops.cli.console import print_notice, print_result
    from kgitops.cli.progress import stages
    from kgitops.cli.selecting import make_selection
    from kgitops.workflow.loading import loaded
    from kgitops.workflow.selection import open_workspace

    workspace = open_workspace(make_selection(paths, cluster))
    with stages(no_color=no_color) as stage, loaded(workspace, stage) as declared:
        desired, bundle = declared.desired, declared.policies.bundle
    for warning in (*desired.warnings, *bundle.warnings):
        print_notice(str(warning))
    virtual = {
        "virtual clusters": len(desired.virtual_clusters),
        "links": len(desired.links),
        "members": len(desired.members),
    }
    counts = {
        **{name: count for name, count in virtual.items() if count},
        "topics": len(desired.topics),
        "ACL bindings": len(desired.acls),
        "quotas": len(desired.quotas),
        "tombstones": len(desired.tombstones),
        "policies": len(bundle.policies),
    }
    print_result(f"Valid: {', '.join(f'{count} {name}' for name, count in counts.items())}.")
