"""Rules on rights that no principal should have. Denials pass: they take rights away."""

from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PermissionType,
    ResourceType,
)
from kgitops.policy import (
    AclManagementPolicy,
    ClusterState,
    CreateAclRequest,
    DeleteAclRequest,
    PolicyViolation,
)
from kgitops.policy.readers import Patterns, patterns, principals
from kgitops.policy.settings import Configured, Setting


def _operations(text: str) -> Patterns:
    listed = patterns(text)
    for name in listed.texts:
        if name != "*" and name not in [*Operation]:
            raise ValueError(f"{name!r} is not an operation (write for example All)")
    return listed


class _GrantPolicy(Configured, AclManagementPolicy):
    """A policy on rights that are given to certain principals."""

    principals = Setting(principals, "patterns of the principals whose rights it judges", "*")

    def grant(self, binding: AclBinding) -> None:
        """Refuse a right by raising PolicyViolation."""
        raise NotImplementedError

    def validate_create_acl(self, request: CreateAclRequest, cluster_state: ClusterState) -> None:
        """Look at a right that is given."""
        binding = request.binding
        if binding.permission_type is PermissionType.ALLOW and binding.principal in self.principals:
            self.grant(binding)

    def validate_delete_acl(self, request: DeleteAclRequest, cluster_state: ClusterState) -> None:
        """Accept."""


class NoWildcardPrincipals(_GrantPolicy):
    """No right is given to everybody."""

    remediation = "Name the principals that need the right."

    def grant(self, binding: AclBinding) -> None:
        """Refuse User:*, and what looks like it: some vendors' authorizers read it so."""
        if binding.principal.endswith(":*"):
            right = f"{binding.operation} on {binding.resource_type} {binding.resource_name}"
            whom = "everybody" if binding.principal == EVERYONE else binding.principal
            raise PolicyViolation(
                f"{right} would be given to {whom}; name the principals", field="principals"
            )


class NoWildcardHosts(_GrantPolicy):
    """No right may be used from every host."""

    remediation = "Set spec.host to the address of the host, one document for each."

    operations = Setting(_operations, "the operations that it judges, such as All", "*")

    def grant(self, binding: AclBinding) -> None:
        """Refuse the host that stands for all."""
        if binding.host == "*" and binding.operation in self.operations:
            raise PolicyViolation(
                f"{binding.principal} could use {binding.operation} on {binding.resource_type} "
                f"{binding.resource_name} from every host; name the host",
                field="host",
            )


class NoAllOnCluster(_GrantPolicy):
    """Nobody is given every right on the cluster."""

    remediation = "List the operations that are needed."

    def grant(self, binding: AclBinding) -> None:
        """Refuse All on the cluster; All on a topic is not judged."""
        if binding.resource_type is ResourceType.CLUSTER and binding.operation is Operation.ALL:
            raise PolicyViolation(
                f"{binding.principal} would be given every right on the cluster; list the "
                "operations that are needed",
                field="operations",
            )
