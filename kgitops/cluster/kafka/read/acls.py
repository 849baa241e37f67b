"""DescribeAcls: every binding there is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from kafka.protocol.admin import DescribeAclsRequest

from kgitops.cluster.kafka.answers import settled, unreadable
from kgitops.cluster.kafka.protocol_values import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.resources.acls import AclBinding
from kgitops.model.results import ErrorCode

T = TypeVar("T")
_ANY = 1  # org.apache.kafka.common.acl.AclOperation.ANY, and so in its three siblings
_WITH_USERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Acls:
    """All bindings; ``enforced`` is False where no authorizer keeps any (A4-95)."""

    bindings: frozenset[AclBinding] = frozenset()
    enforced: bool = True
    not_checked: tuple[NotChecked, ...] = ()


def acls_request() -> Message:
    """The request for all of them."""
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


def acls_of(wire: Wire, request: Message, answer: Message) -> Acls:
    """What was answered.

    A binding of a kind that this kgitops does not know can neither be declared nor be managed, so
    nothing is ever done to it; that it is there is said.

    Raises:
        UnreachableError: the principal may not read them.
    """
    response = settled(wire, request, answer)
    if response.error_code == ErrorCode.SECURITY_DISABLED:
        return Acls(enforced=False)
    if response.error_code:
        raise unreadable(
            response.error_code, "the ACLs", "Describe on the cluster", response.error_message
        )
    kinds, patterns = _backwards(RESOURCE_TYPES), _backwards(PATTERN_TYPES)
    operations, permissions = _backwards(OPERATIONS), _backwards(PERMISSION_TYPES)
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
    return Acls(bindings=frozenset(bindings), not_checked=_unknown(unknown))


def _backwards(codes: Mapping[T, int]) -> Mapping[int, T]:
    return {code: value for value, code in codes.items()}


def _unknown(found: Counter[str]) -> tuple[NotChecked, ...]:
    if not found:
        return ()
    first = min(found)
    return (
        NotChecked(
            problem=f"{found.total()} ACLs are of a kind that this kgitops does not know, such as "
            f"that of {first}: they are left alone and not counted as access",
            advice="upgrade kgitops to manage them",
        ),
    )
