"""DescribeAcls: every ACL binding of the cluster."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from kafka.protocol.admin import DescribeAclsRequest
from kafka.protocol.metadata import ApiVersionsRequest
from msgspec import Struct

from kgitops.cluster.kafka.answers import unreadable_error, with_retries
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.protocol_codes import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)
from kgitops.model.results import ErrorCode

T = TypeVar("T")
_ANY = 1  # org.apache.kafka.common.acl.AclOperation.ANY, and so in its three siblings
_WITH_USERS = 3
_WITH_FEATURES = 3
_RANGES_SINCE = 32
"""4.4-IV1 in org.apache.kafka.server.common.MetadataVersion (isCidrAclSupported)."""


class AclListing(Struct, frozen=True, kw_only=True):
    """All bindings; ``enforced`` is False where the cluster has no authorizer (A4-95)."""

    bindings: frozenset[AclBinding] = frozenset()
    enforced: bool = True
    not_checked: tuple[NotChecked, ...] = ()


def matches_host_ranges(wire: Wire) -> bool:
    """Return whether brokers match a host such as 10.0.0.0/8 as a range, by metadata.version.

    Raises:
        UnreachableError: no broker answers.
    """
    request = ApiVersionsRequest(
        client_software_name="kgitops", client_software_version="1", min_version=_WITH_FEATURES
    )
    response = with_retries(wire, request, wire.send(request))
    if response.error_code:
        what = "the version of the cluster's metadata"
        raise unreadable_error(wire, "ApiVersions", what, response.error_code)
    return any(
        row.name == "metadata.version" and row.max_version_level >= _RANGES_SINCE
        for row in response.finalized_features
    )


def acls_request() -> Message:
    """Build the request for all bindings."""
    return DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
        min_version=_WITH_USERS,
    )


def acls_of(wire: Wire, request: Message, answer: Message) -> AclListing:
    """Read the bindings from the answer.

    A binding of a kind that this kgitops does not know can be neither declared nor managed, so it
    is left alone and reported.

    Raises:
        UnreachableError: the principal may not read them.
    """
    response = with_retries(wire, request, answer)
    if response.error_code == ErrorCode.SECURITY_DISABLED:
        return AclListing(enforced=False)
    if response.error_code:
        code, message = response.error_code, response.error_message
        raise unreadable_error(wire, "DescribeAcls", "the ACLs", code, message)
    kinds, patterns = _inverted(RESOURCE_TYPES), _inverted(PATTERN_TYPES)
    operations, permissions = _inverted(OPERATIONS), _inverted(PERMISSION_TYPES)
    bindings: list[AclBinding] = []
    unknown: Counter[str] = Counter()
    for resource in response.resources:
        kind, pattern = resource.resource_type, resource.pattern_type
        for acl in resource.acls:
            operation, permission = acl.operation, acl.permission_type
            if (
                kind not in kinds
                or pattern not in patterns
                or operation not in operations
                or permission not in permissions
            ):
                unknown[f"{acl.principal} on {resource.resource_name}"] += 1
                continue
            bindings.append(
                AclBinding(
                    resource_type=kinds[kind],
                    resource_name=resource.resource_name,
                    pattern_type=patterns[pattern],
                    principal=acl.principal,
                    host=acl.host,
                    operation=operations[operation],
                    permission_type=permissions[permission],
                )
            )
    return AclListing(bindings=frozenset(bindings), not_checked=_unknown(unknown))


def _inverted(codes: Mapping[T, int]) -> Mapping[int, T]:
    return {code: value for value, code in codes.items()}


def _unknown(bindings: Counter[str]) -> tuple[NotChecked, ...]:
    if not bindings:
        return ()
    first = min(bindings)
    return (
        NotChecked(
            problem=f"{bindings.total()} ACLs are of a kind that this kgitops does not know, such "
            f"as that of {first}: they are left alone and not counted as access",
            advice="upgrade kgitops to manage them",
        ),
    )
