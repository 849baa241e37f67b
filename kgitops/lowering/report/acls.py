"""What of the ACLs of virtual clusters is not kept exactly."""

from collections.abc import Iterable, Iterator

from kgitops.lowering.acls.compile import INEXPRESSIBLE, OPERATIONS, WILDCARD, is_logical
from kgitops.lowering.acls.conflicts import conflicts
from kgitops.lowering.acls.scoped_acls import ScopedAcls, is_wide
from kgitops.lowering.report.lines import line
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.acls import EVERYONE, AclBinding, Operation, PatternType, ResourceType
from kgitops.model.resources.acls import OPERATIONS as KAFKA_OPERATIONS
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import VirtualCluster


def acl_lines(
    bindings: Iterable[AclBinding], virtual_clusters: Iterable[VirtualCluster]
) -> Iterator[LoweringLine]:
    """One binding may have several lines."""
    scoped = ScopedAcls(bindings)
    for binding in bindings:
        if is_logical(binding):
            cluster = binding.resource_type is ResourceType.CLUSTER
            where = binding.resource_name if cluster else binding.virtual_cluster
            for code in dict.fromkeys(_codes(binding)):
                yield line(code, virtual_cluster=where, subject=acl_address(binding))
    for found in virtual_clusters:
        here = scoped.in_virtual_cluster(found.name)
        if here.denies:
            for conflict in sorted(set(conflicts(found, here.all()))):
                yield line(
                    "L-ACL-CONFLICT",
                    virtual_cluster=found.name,
                    subject=acl_address(conflict.deny),
                    reason=str(conflict),
                    grade=Grade.APPROX if found.options.deny_wins else Grade.REFUSE,
                )


def _codes(binding: AclBinding) -> Iterator[str]:
    kind, operation = binding.resource_type, binding.operation
    everything = operation is Operation.ALL
    if kind is ResourceType.CLUSTER:
        yield "L-ACL-CLUSTER"
        if everything or operation is Operation.CREATE:
            yield "L-ACL-CREATE"
        return
    if kind in INEXPRESSIBLE:
        yield "L-ACL-TOKEN"
        return
    for lost in KAFKA_OPERATIONS[kind] - OPERATIONS[kind]:
        if everything or operation is lost:
            yield _lost(kind, lost)
    if binding.principal == EVERYONE or is_wide(binding) or _expanded(binding):
        yield "L-ACL-SNAPSHOT"


def _lost(kind: ResourceType, operation: Operation) -> str:
    if kind is ResourceType.TOPIC and operation is Operation.CREATE:
        return "L-ACL-CREATE"
    if kind is ResourceType.TOPIC and operation is Operation.DELETE:
        return "L-ACL-DELETE"
    return "L-ACL-OPERATION"


def _expanded(binding: AclBinding) -> bool:
    """Groups and transactional ids have prefixes of their own on brokers, topics have not."""
    prefixed = binding.pattern_type is PatternType.PREFIXED
    pattern = prefixed or binding.resource_name == WILDCARD
    return binding.resource_type is ResourceType.TOPIC and pattern
