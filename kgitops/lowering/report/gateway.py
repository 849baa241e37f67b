"""Report lines for clients that come through a gateway: what it makes exact, and what it hides."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kgitops.lowering.acls.compile import WILDCARD, is_logical
from kgitops.lowering.report.lines import report_line
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import DeclaredGateway, Grade, LoweringLine
from kgitops.model.resources.acls import AclBinding, PermissionType, ResourceType
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import IP


class _Behind(Struct, frozen=True):
    """The grade, reason and remedy of a code for clients of the gateway."""

    grade: Grade
    reason: str
    remedy: str


BEHIND_GATEWAY = {
    "L-TRANSPARENCY": _Behind(
        Grade.EXACT,
        "the gateway translates link names",
        "let clients connect to the gateway, and use the names of the links",
    ),
    "L-GROUP": _Behind(
        Grade.EXACT,
        "the gateway translates group ids",
        "let clients connect to the gateway, and set group.id to the group's own name",
    ),
    "L-TXN": _Behind(
        Grade.EXACT,
        "the gateway translates transactional ids",
        "let clients connect to the gateway, and set transactional.id to the id itself",
    ),
    "L-LIST": _Behind(
        Grade.EXACT,
        "the gateway lists what is in the client's virtual cluster, by its local names",
        "let clients connect to the gateway",
    ),
    "L-STREAMS": _Behind(
        Grade.NONE,
        "the gateway refuses to create the topics that Streams, Connect and MirrorMaker make "
        "themselves",
        "declare their topics in the virtual cluster, by the names that they use",
    ),
    "L-CLIENTID": _Behind(
        Grade.NONE,
        "the gateway translates names for the client id, but neither ACLs nor quotas of the "
        "virtual cluster reach it on brokers; and anyone can claim a client id",
        "add the client's user instead",
    ),
}
"""The lines that read differently where the cluster has a gateway."""
_GOALS = {
    "isolation": (None, "brokers isolate data with ACLs, and the gateway shows local names only"),
    "transparency to clients": (Grade.EXACT, "clients of the gateway use local names"),
}


def behind_gateway(line: LoweringLine) -> LoweringLine:
    """The line as it reads for clients of a gateway."""
    if line.code == "L-GOAL" and line.subject in _GOALS:
        grade, reason = _GOALS[line.subject]
        return replace(line, grade=grade or line.grade, reason=reason)
    behind = BEHIND_GATEWAY.get(line.code)
    if behind is None:
        return line
    return replace(line, grade=behind.grade, reason=behind.reason, remedy=behind.remedy)


def gateway_lines(state: ClusterState, gateway: DeclaredGateway) -> Iterator[LoweringLine]:
    """Lines on what brokers no longer see of clients: their addresses (ACLs, quotas of ip)."""
    yield report_line("L-GATEWAY", subject=gateway.bootstrap_servers)
    for binding in state.acls:
        if binding.host != WILDCARD:
            denies = binding.permission_type is PermissionType.DENY
            reason = (
                "brokers compare its host with the gateway's address, so whom it is to keep out "
                "comes in through the gateway"
            )
            yield report_line(
                "L-GATEWAY-HOST",
                virtual_cluster=_scope(binding),
                subject=acl_address(binding),
                reason=reason if denies else "",
            )
    for entity in state.quotas:
        if any(kind == IP for kind, _ in entity):
            yield report_line("L-GATEWAY-IP", subject=quota_address(entity))


def _scope(binding: AclBinding) -> str:
    if not is_logical(binding):
        return ""
    cluster = binding.resource_type is ResourceType.CLUSTER
    return (binding.resource_name if cluster else binding.virtual_cluster) or ""
