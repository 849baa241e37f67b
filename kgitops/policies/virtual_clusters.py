"""Rules on the names of virtual clusters, on their members, and on the topics that they see."""

from kgitops.policy import (
    AlterVirtualClusterRequest,
    ClusterState,
    CreateTopicLinkRequest,
    CreateVirtualClusterRequest,
    DeleteTopicLinkRequest,
    DeleteVirtualClusterRequest,
    EntityType,
    PolicyViolation,
    Principal,
    VirtualClusterChange,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.readers import pairs, patterns, principals, regex
from kgitops.policy.settings import Configured, Setting, optional


class _VirtualClusterPolicy(Configured, VirtualClusterManagementPolicy):
    """A policy that accepts everything, for others to override."""

    except_principals = optional(principals, "patterns of principals whom it never refuses")

    def judges(self, principal: Principal) -> bool:
        """Return whether the policy is for requests of ``principal``."""
        return not (self.except_principals and str(principal) in self.except_principals)

    def validate_create_virtual_cluster(
        self, request: CreateVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_alter_virtual_cluster(
        self, request: AlterVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_delete_virtual_cluster(
        self, request: DeleteVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_create_topic_link(
        self, request: CreateTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_delete_topic_link(
        self, request: DeleteTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""


class VirtualClusterNaming(_VirtualClusterPolicy):
    """New virtual clusters are named by one pattern: a name can't be changed later."""

    remediation = "Give the virtual cluster another name."

    pattern = Setting(regex, "the regular expression that matches the whole name")
    example = optional(str, "a name that matches, for the message")

    def validate_create_virtual_cluster(
        self, request: CreateVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a name that doesn't match."""
        name = request.virtual_cluster
        if self.judges(request.principal) and not self.pattern.fullmatch(name):
            example = f", such as {self.example}" if self.example else ""
            raise PolicyViolation(
                f"{name} is no name for a virtual cluster; it must match "
                f"{self.pattern.pattern}{example}"
            )


class MembersAreUsers(_VirtualClusterPolicy):
    """Only users become members of a virtual cluster: any client can send any client id.

    Client ids that are members already may be removed.
    """

    remediation = "Make the client's user a member."

    client_ids = optional(patterns, "patterns of client ids that may be members all the same")

    def validate_alter_virtual_cluster(
        self, request: AlterVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a client id that is to become a member."""
        name = request.entity_name or ""
        if (
            request.change is VirtualClusterChange.ADD
            and request.entity_type is EntityType.CLIENT_ID
            and self.judges(request.principal)
            and not (self.client_ids and name in self.client_ids)
        ):
            raise PolicyViolation(
                f"the client id {name} would become a member of {request.virtual_cluster}; any "
                "client can send it, so only users may"
            )


class LinkConsent(_VirtualClusterPolicy):
    """A virtual cluster gets to see another one's topic only where that was agreed.

    Whose a topic is, its links tell: a link to a topic that other virtual clusters see needs the
    consent of one of them. A topic that none sees yet is free.
    """

    remediation = "Have the virtual cluster that sees the topic agree, and add the pair to consent."

    consent = optional(
        pairs, "SEES=MAY, also several times, such as emea.sales=analytics or *=audit"
    )

    def validate_create_topic_link(
        self, request: CreateTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a link across virtual clusters that nobody agreed to."""
        sharers, into = request.affected, request.virtual_cluster
        own = any(local.virtual_cluster == into for local in request.links)
        if own or not sharers or not self.judges(request.principal):
            return
        agreed = {(owner, guest) for owner, guest in self.consent or ()}
        if not agreed & {(owner, into) for owner in (*sharers, "*")}:
            raise PolicyViolation(
                f"{request.topic} belongs to {', '.join(sorted(sharers))}, and nobody agreed that "
                f"{into} may see it as {request.link}"
            )
