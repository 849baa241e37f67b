"""What is special about ACLs in virtual clusters, and about the resource that stands for them."""

from kgitops.desired.findings import Findings, Path
from kgitops.desired.virtual_clusters.scopes import ADVICE, scope_of
from kgitops.manifests.kinds.acl import AclSpec
from kgitops.manifests.yaml.document import Document
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem

_EVERY = "*"
# Delete is the classic name of DeleteVirtualCluster (VC-141); idempotent writes are the physical
# cluster's alone (VC-160b).
_ON_VIRTUAL_CLUSTERS = (
    OPERATIONS[ResourceType.CLUSTER] | VIRTUAL_CLUSTER_OPERATIONS | {Operation.DELETE}
) - {Operation.IDEMPOTENT_WRITE}


def check_operations(spec: AclSpec, document: Document, findings: Findings) -> None:
    """Each type of resource has its operations, and the cluster has more than Kafka's (VC-141)."""
    resource = spec.resource
    legal, what = OPERATIONS[resource.type], f"a {resource.type}"
    if resource.type is ResourceType.CLUSTER:
        legal |= VIRTUAL_CLUSTER_OPERATIONS
        if resource.name != CLUSTER_NAME:
            legal, what = _ON_VIRTUAL_CLUSTERS, "a virtual cluster"
    for index, operation in enumerate(spec.operations):
        if operation not in legal and operation is not Operation.ALL:
            names = ", ".join(sorted({*legal, Operation.ALL}))
            findings.error(
                document,
                ("spec", "operations", index),
                f"{operation} is no operation on {what}",
                f"write one of {names}",
            )


def check_scope(spec: AclSpec, document: Document, findings: Findings) -> None:
    """A name, a prefix, or "*" for every virtual cluster (VC-144)."""
    path = ("spec", "virtualCluster")
    scope = scope_of(spec.virtual_cluster)
    literal = spec.virtual_cluster_pattern_type is PatternType.LITERAL
    if scope is None:
        if not literal:
            findings.error(
                document,
                ("spec", "virtualClusterPatternType"),
                f"{CLUSTER_NAME} is no prefix: it is the physical cluster alone",
                "remove virtualClusterPatternType, or write the prefix as virtualCluster",
                key=True,
            )
    elif spec.resource.type is ResourceType.CLUSTER:
        pattern = "" if literal else ", patternType: prefixed"
        findings.error(
            document,
            path,
            "the resource cluster lies in no virtual cluster, its name says which one is meant",
            f"remove virtualCluster and write resource: {{type: cluster, name: {scope}{pattern}}}",
            key=True,
        )
    elif scope != _EVERY or not literal:
        _check_pattern(scope, document, path, findings, literal=literal)


def check_cluster(name: str, document: Document, findings: Findings, *, literal: bool) -> None:
    """The physical cluster, or virtual ones: by name, prefix or "*" (VC-108, VC-140)."""
    path = ("spec", "resource", "name")
    if name == CLUSTER_NAME:
        if not literal:
            problem = "the cluster resource can only be named literally"
            findings.error(document, ("spec", "resource", "patternType"), problem, "write literal")
    elif name != _EVERY or not literal:
        _check_pattern(name, document, path, findings, literal=literal)


def _check_pattern(
    name: str, document: Document, path: Path, findings: Findings, *, literal: bool
) -> None:
    """A prefix may end anywhere in a name."""
    problem = virtual_cluster_name_problem(name if literal else f"{name[:248]}x")
    if problem and name == _EVERY:
        findings.error(
            document, path, '"*" is no prefix', "remove the pattern type: it means every one"
        )
    elif problem:
        findings.error(document, path, problem, ADVICE)
