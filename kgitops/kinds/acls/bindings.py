"""Builds the ACL bindings of ``kind: Acl`` documents, checked against Kafka's rules."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgitops.desired.clients import host_mismatch, principal_mismatch
from kgitops.desired.findings import ADVICE, Findings, Path, scope_of
from kgitops.desired.roles import Grant, expand_grants
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.json.declared import DeletionPolicy, DesiredAcl
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.names import (
    REGISTRY_TOPIC,
    is_principal,
    text_problem,
    topic_name_problem,
)
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem

if TYPE_CHECKING:
    from kgitops.kinds.acls.acl import Acl, AclSpec

_ANY = "*"
_RESOURCE: Path = ("spec", "resource")


def build_acls(acl: "Acl", document: Document, findings: Findings) -> list[DesiredAcl]:
    """Build a binding for each principal and operation; problems are added to ``findings``."""
    spec = acl.spec
    if spec.host != _ANY:
        _check_host(spec.host, document, findings)
    principals = [
        principal
        for principal, path in _principals(spec, document, findings)
        if _is_right(principal, path, document, findings)
    ]
    built: list[DesiredAcl] = []
    for grant in expand_grants(spec, document, findings):
        _check_scope(spec, grant, findings)
        _check_resource(spec, grant, findings)
        _check_operations(grant, findings)
        for principal in principals:
            built += _bindings(acl, principal, grant)
    return built


def _is_right(principal: str, path: Path, document: Document, findings: Findings) -> bool:
    """Return whether it is a principal; a problem is added to ``findings``."""
    if not is_principal(principal):
        advice = "write it as Type:name, such as User:billing"
        problem = f"{shown(principal)} is not a principal"
        findings.error(document, path, problem, advice)
    elif too_long := text_problem(principal):
        findings.error(document, path, f"the principal {too_long}", "shorten it")
    else:
        if mismatch := principal_mismatch(principal):
            findings.warning(document, path, mismatch.problem, mismatch.advice)
        return True
    return False


def _bindings(acl: "Acl", principal: str, grant: Grant) -> Iterator[DesiredAcl]:
    spec = acl.spec
    scope = scope_of(spec.virtual_cluster)
    for operation in grant.operations:
        binding = AclBinding(
            resource_type=grant.resource.type,
            resource_name=grant.resource.name,
            pattern_type=grant.resource.pattern_type,
            principal=principal,
            host=spec.host,
            operation=operation,
            permission_type=grant.permission,
            virtual_cluster=scope or CLUSTER_NAME,
            virtual_cluster_pattern_type=(
                spec.virtual_cluster_pattern_type if scope else PatternType.LITERAL
            ),
        )
        yield DesiredAcl(
            address=acl_address(binding),
            binding=binding,
            deletion_policy=DeletionPolicy(spec.deletion_policy or "Delete"),
            deletion_policy_written=spec.deletion_policy is not None,
            labels=acl.metadata.labels,
            located=grant.document,
        )


def _principals(
    spec: "AclSpec", document: Document, findings: Findings
) -> Iterator[tuple[str, Path]]:
    if spec.principal is not None and spec.principals is not None:
        findings.error(
            document,
            ("spec", "principal"),
            "spec.principal and spec.principals are both given",
            "write one of them",
            key=True,
        )
    if spec.principal is not None:
        yield spec.principal, ("spec", "principal")
    elif spec.principals is not None:
        for index, principal in enumerate(spec.principals):
            yield principal, ("spec", "principals", index)
    else:
        findings.error(
            document,
            ("spec",),
            "the ACL names no principal",
            "add spec.principal, such as User:billing",
        )


def _check_resource(spec: "AclSpec", grant: Grant, findings: Findings) -> None:
    resource, document = grant.resource, grant.document
    name, literal = resource.name, resource.pattern_type is PatternType.LITERAL
    path = (*_RESOURCE, "name")
    scoped = scope_of(spec.virtual_cluster) is not None
    if problem := text_problem(name):
        findings.error(document, path, f"the name {problem}", "shorten it")
    elif resource.type is ResourceType.CLUSTER:
        check_cluster(name, document, findings, literal=literal)
    elif resource.type is ResourceType.TOPIC and name == REGISTRY_TOPIC and not scoped:
        problem = f"ACLs on {REGISTRY_TOPIC} can't be declared: kgitops keeps its registry in it"
        findings.error(document, path, problem, "remove the document")
    elif name == _ANY and not literal:
        problem = 'with patternType prefixed "*" is the prefix "*" itself, not every resource'
        advice = 'write patternType literal, which reads "*" as all'
        findings.warning(document, path, problem, "write a name" if grant.role else advice)
    elif name != _ANY and name.endswith(_ANY):
        problem = f"the '*' at the end of {shown(name)} is not a wildcard to Kafka"
        advice = "write the prefix alone" + (", with patternType prefixed" if literal else "")
        findings.warning(document, path, problem, advice)
    elif resource.type is ResourceType.TOPIC and name != _ANY and topic_name_problem(name):
        problem = f"no topic can have a name like {shown(name)}, so this matches nothing"
        findings.warning(document, path, problem, "correct the name")
    elif name != _ANY and _ANY in name:
        problem = f"the '*' in {shown(name)} is not a wildcard to Kafka"
        findings.warning(document, path, problem, "write each name, or a prefix")
    elif name != name.strip():
        problem = f"{shown(name)} has a space around it, and so matches no other name"
        findings.warning(document, path, problem, f"write {shown(name.strip())}")


def _check_host(host: str, document: Document, findings: Findings) -> None:
    path: Path = ("spec", "host")
    if problem := text_problem(host):
        findings.error(document, path, f"the host {problem}", "shorten it")
    elif mismatch := host_mismatch(host):
        findings.warning(document, path, mismatch.problem, mismatch.advice)


_EVERY = "*"
# Delete is the classic name of DeleteVirtualCluster (VC-141); idempotent writes are the physical
# cluster's alone (VC-160b).
_ON_VIRTUAL_CLUSTERS = (
    OPERATIONS[ResourceType.CLUSTER] | VIRTUAL_CLUSTER_OPERATIONS | {Operation.DELETE}
) - {Operation.IDEMPOTENT_WRITE}


def _check_operations(grant: Grant, findings: Findings) -> None:
    """Check the operations against the resource type; a cluster has more than Kafka's (VC-141)."""
    resource = grant.resource
    legal, what = OPERATIONS[resource.type], f"a {resource.type}"
    if resource.type is ResourceType.CLUSTER:
        legal |= VIRTUAL_CLUSTER_OPERATIONS
        if resource.name != CLUSTER_NAME:
            legal, what = _ON_VIRTUAL_CLUSTERS, "a virtual cluster"
    for index, operation in enumerate(grant.operations):
        if operation not in legal and operation is not Operation.ALL:
            names = ", ".join(sorted({*legal, Operation.ALL}))
            findings.error(
                grant.document,
                ("spec", "operations", index),
                f"{operation} is not an operation on {what}",
                f"write one of {names}",
            )


def _check_scope(spec: "AclSpec", grant: Grant, findings: Findings) -> None:
    """Check the virtual cluster: a name, a prefix, or "*" for every virtual cluster (VC-144)."""
    document = grant.document
    path = ("spec", "virtualCluster")
    scope = scope_of(spec.virtual_cluster)
    literal = spec.virtual_cluster_pattern_type is PatternType.LITERAL
    if scope is None:
        if not literal:
            findings.error(
                document,
                ("spec", "virtualClusterPatternType"),
                f"{CLUSTER_NAME} is not a prefix: it is the physical cluster alone",
                "remove virtualClusterPatternType, or write the prefix as virtualCluster",
                key=True,
            )
    elif grant.resource.type is ResourceType.CLUSTER:
        pattern = "" if literal else ", patternType: prefixed"
        findings.error(
            document,
            path,
            "the resource cluster is not in a virtual cluster; its name says which one is meant",
            f"remove virtualCluster and write resource: {{type: cluster, name: {scope}{pattern}}}",
            key=True,
        )
    elif scope != _EVERY or not literal:
        _check_pattern(scope, document, path, findings, literal=literal)


def check_cluster(name: str, document: Document, findings: Findings, *, literal: bool) -> None:
    """Check the name of a cluster resource: the physical cluster, or virtual ones (VC-108, VC-140).

    Virtual clusters are given by name, by prefix or by "*".
    """
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
    """Check a name or a prefix; a prefix may end anywhere in a name."""
    problem = virtual_cluster_name_problem(name if literal else f"{name[:248]}x")
    if problem and name == _EVERY:
        findings.error(
            document, path, '"*" is not a prefix', "remove the pattern type: it means every one"
        )
    elif problem:
        findings.error(document, path, problem, ADVICE)
