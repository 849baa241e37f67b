"""What a project last applied, as a desired state: planning against it finds the drift."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.desired.state import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    DesiredVirtualCluster,
    MembersMode,
    Project,
    Safety,
    Scope,
)
from kgitops.model.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.canonical_json import canonical_json, sha256
from kgitops.model.quotas import make_entity
from kgitops.model.registry import Json, Owner, RegistryState
from kgitops.model.source import Source
from kgitops.model.virtual_clusters import CapLowering, EntityType, LocalName, LoweringOptions


@dataclass(frozen=True, slots=True)
class _InRegistry:
    """Stands where a document would: the registry has no lines."""

    address: str

    @property
    def source(self) -> Source:
        return Source(f"registry:own/{self.address}", 1, 1)

    def at(self, *path: str | int) -> Source:
        del path
        return self.source


def desired_from_registry(
    project: Project, registry: RegistryState | None, *, safety: Safety, principal: str
) -> DesiredState:
    """Everything that ``project`` last applied, as if its manifests still said so."""
    owned = {
        address: owner
        for address, owner in sorted((registry.owners if registry else {}).items())
        if owner.project == project.identity and not owner.spent
    }
    digest = sha256(canonical_json({key: dict(o.last_applied) for key, o in owned.items()}))
    return DesiredState(
        project=project,
        scope=Scope(whole=True),
        safety=safety,
        principal=principal,
        topics=tuple(
            _topic(address, owner) for address, owner in owned.items() if _is(owner, "Topic")
        ),
        acls=tuple(
            _acl(address, owner)
            for address, owner in owned.items()
            # What was copied for a member follows from the member, as it did when it was planned.
            if _is(owner, "Acl") and "origin" not in owner.last_applied
        ),
        quotas=tuple(
            _quota(address, owner) for address, owner in owned.items() if _is(owner, "ClientQuota")
        ),
        virtual_clusters=tuple(
            _virtual_cluster(address, owner)
            for address, owner in owned.items()
            if _is(owner, "VirtualCluster")
        ),
        links=tuple(
            _link(address, owner) for address, owner in owned.items() if _is(owner, "TopicLink")
        ),
        members=tuple(
            _member(address, owner)
            for address, owner in owned.items()
            if _is(owner, "VirtualClusterBinding", "ConsumerGroup")
        ),
        digest=digest,
    )


def _is(owner: Owner, *kinds: str) -> bool:
    return owner.last_applied["kind"] in kinds


def _policy(last: Mapping[str, Json]) -> tuple[DeletionPolicy, bool]:
    return DeletionPolicy(last["deletionPolicy"]), last["deletionPolicyWritten"]


def _topic(address: str, owner: Owner) -> DesiredTopic:
    last = owner.last_applied
    policy, written = _policy(last)
    assignments = last["assignments"]
    return DesiredTopic(
        address=address,
        name=last["name"],
        partitions=last["partitions"],
        replication_factor=last["replicationFactor"],
        assignment=None if assignments is None else tuple(map(tuple, assignments)),
        configs=last["configs"],
        delete_records_before={
            int(partition): int(offset) for partition, offset in last["deleteRecordsBefore"].items()
        },
        deletion_policy=policy,
        deletion_policy_written=written,
        configs_policy=ConfigsPolicy(last["configsPolicy"]),
        virtual_cluster=last.get("virtualCluster"),
        share_with=tuple(last.get("shareWith", ())),
        located=_InRegistry(address),
    )


def _acl(address: str, owner: Owner) -> DesiredAcl:
    last = owner.last_applied
    policy, written = _policy(last)
    resource = last["resource"]
    return DesiredAcl(
        address=address,
        binding=AclBinding(
            resource_type=ResourceType(resource["type"]),
            resource_name=resource["name"],
            pattern_type=PatternType(resource["patternType"]),
            principal=last["principal"],
            host=last["host"],
            operation=Operation(last["operation"]),
            permission_type=PermissionType(last["permission"]),
            virtual_cluster=last.get("virtualCluster", CLUSTER_NAME),
            virtual_cluster_pattern_type=PatternType(
                last.get("virtualClusterPatternType", PatternType.LITERAL)
            ),
        ),
        deletion_policy=policy,
        deletion_policy_written=written,
        located=_InRegistry(address),
    )


def _quota(address: str, owner: Owner) -> DesiredQuota:
    last = owner.last_applied
    policy, written = _policy(last)
    return DesiredQuota(
        address=address,
        entity=make_entity(last["entity"]),
        quotas={key: float(value) for key, value in last["quotas"].items()},
        deletion_policy=policy,
        deletion_policy_written=written,
        located=_InRegistry(address),
    )


def _virtual_cluster(address: str, owner: Owner) -> DesiredVirtualCluster:
    last = owner.last_applied
    policy, written = _policy(last)
    lowering = last["lowering"]
    return DesiredVirtualCluster(
        address=address,
        name=last["name"],
        mode=MembersMode(last["mode"]),
        options=LoweringOptions(
            cap_lowering=CapLowering(lowering["capLowering"]), deny_wins=lowering["denyWins"]
        ),
        deletion_policy=policy,
        deletion_policy_written=written,
        located=_InRegistry(address),
    )


def _link(address: str, owner: Owner) -> DesiredLink:
    last = owner.last_applied
    policy, written = _policy(last)
    target = last["target"]
    return DesiredLink(
        address=address,
        local=LocalName(last["virtualCluster"], last["name"]),
        topic=last["topic"],
        target=None if target is None else LocalName(target["virtualCluster"], target["topic"]),
        deletion_policy=policy,
        deletion_policy_written=written,
        located=_InRegistry(address),
    )


def _member(address: str, owner: Owner) -> DesiredMember:
    last = owner.last_applied
    policy, written = _policy(last)
    return DesiredMember(
        address=address,
        virtual_cluster=last["virtualCluster"],
        entity_type=EntityType(last["type"]),
        name=last["name"],
        copy_acls_from=last["copyAclsFrom"],
        remove_old_acls_from=last["removeOldAclsFrom"],
        move=last["move"],
        adopt=last["adopt"],
        copy_offsets=last["copyOffsets"],
        deletion_policy=policy,
        deletion_policy_written=written,
        located=_InRegistry(address),
    )
