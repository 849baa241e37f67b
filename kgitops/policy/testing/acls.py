"""Builders of ACLs, client quotas, and the requests for them."""

from collections.abc import Mapping

from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.policy.api.requests import (
    ANONYMOUS,
    AlterClientQuotaRequest,
    CreateAclRequest,
    DeleteAclRequest,
    Principal,
)
from kgitops.policy.api.states import RequestedQuotaState
from kgitops.policy.state.simulated import overlaid


def acl(
    principal: str = "User:app",
    operation: str = "Read",
    name: str = "orders",
    *,
    resource: str = "topic",
    pattern: str = "literal",
    host: str = "*",
    permission: str = "Allow",
    virtual_cluster: str = CLUSTER_NAME,
) -> AclBinding:
    """``Allow User:app to Read the topic orders from anywhere``, but for what is given."""
    return AclBinding(
        resource_type=ResourceType(resource),
        resource_name=name,
        pattern_type=PatternType(pattern),
        principal=principal,
        host=host,
        operation=Operation(operation),
        permission_type=PermissionType(permission),
        virtual_cluster=virtual_cluster,
    )


def create_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> CreateAclRequest:
    """A binding is to be added; ``principal`` asks."""
    return CreateAclRequest(principal=Principal.parse(principal), binding=binding)


def delete_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> DeleteAclRequest:
    """A binding is to be removed; ``principal`` asks."""
    return DeleteAclRequest(principal=Principal.parse(principal), binding=binding)


def entity(**names: str | None) -> ClientQuotaEntity:
    """``entity(user="app", client_id=None)``: None is the default of that type."""
    return make_entity({kind.replace("_", "-"): name for kind, name in names.items()})


def alter_client_quota(
    of: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    *,
    before: Mapping[str, float] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterClientQuotaRequest:
    """Quotas of an entity that had ``before``; None as a value removes the key."""
    return AlterClientQuotaRequest(
        entity=of,
        principal=Principal.parse(principal),
        requested_state=RequestedQuotaState(
            quotas=overlaid(before or {}, quotas), requested_quotas=dict(quotas)
        ),
    )
