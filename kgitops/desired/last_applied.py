"""What a project last applied, as a desired state: planning against it finds the drift."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.desired.state import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    Project,
    Safety,
    Scope,
)
from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.canonical_json import canonical_json, sha256
from kgitops.model.quotas import make_entity
from kgitops.model.registry import Json, Owner, RegistryState
from kgitops.model.source import Source


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
        acls=tuple(_acl(address, owner) for address, owner in owned.items() if _is(owner, "Acl")),
        quotas=tuple(
            _quota(address, owner) for address, owner in owned.items() if _is(owner, "ClientQuota")
        ),
        digest=digest,
    )


def _is(owner: Owner, kind: str) -> bool:
    return bool(owner.last_applied["kind"] == kind)


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
