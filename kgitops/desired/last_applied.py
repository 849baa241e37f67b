"""The project's last applied declarations as a desired state: a plan for it shows the drift."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from kgitops.desired.state import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    DesiredVirtualCluster,
    ManagedScope,
    MembersMode,
    Project,
    Safety,
)
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.registry import DEFAULT_PROJECT, Json, RegistryState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.source import Located, Source


def former_identities(project: Project, registry: RegistryState | None) -> frozenset[str]:
    """Return the former identities of ``project``: their objects in the registry are its own.

    A name in ``formerly`` stands for the project that bears it when this one is applied for the
    first time. The registry records its identity, because another project may take the name later.
    """
    if registry is None:
        return frozenset(project.formerly) - {project.identity, DEFAULT_PROJECT}
    identities = {*project.formerly, *registry.formerly.get(project.identity, ())}
    if project.identity not in registry.projects:
        identities |= {it for it, name in registry.projects.items() if name in project.formerly}
    return frozenset(identities - {project.identity, DEFAULT_PROJECT})


def identities_to_remember(project: Project, registry: RegistryState | None) -> tuple[str, ...]:
    """Return the former identities and the reserved names, as the registry records them."""
    projects = registry.projects if registry else {}
    former = {it for it in former_identities(project, registry) if it in projects}
    return tuple(sorted({*former, *project.formerly}))


ORIGIN = "origin"
"""The key in ``last_applied`` of a copied ACL that names its member and the source."""


@dataclass(frozen=True, slots=True)
class RegistrySource:
    """The source of a declaration that comes from the registry, which has no lines."""

    address: str

    @property
    def source(self) -> Source:
        """The record's key, as a place."""
        return Source(f"registry:own/{self.address}", 1, 1)

    def at(self, *path: str | int) -> Source:
        """Return the same place for any path."""
        del path
        return self.source


def desired_from_registry(
    project: Project, registry: RegistryState | None, *, safety: Safety, principal: str
) -> DesiredState:
    """Build the desired state that ``project`` last applied, as if it were still declared."""
    mine = {project.identity, *former_identities(project, registry)}
    owned = {
        address: owner
        for address, owner in sorted((registry.owners if registry else {}).items())
        if owner.project in mine and not owner.spent
    }
    digest = sha256(canonical_json({key: dict(o.last_applied) for key, o in owned.items()}))
    # Copied ACLs follow from their member, as they did when they were planned.
    objects = [
        declared_object(address, owner.last_applied, RegistrySource(address))
        for address, owner in owned.items()
        if ORIGIN not in owner.last_applied
    ]
    return with_objects(
        DesiredState(
            project=project,
            scope=ManagedScope(whole=True),
            safety=safety,
            principal=principal,
            digest=digest,
        ),
        objects,
    )


def with_objects(desired: DesiredState, objects: Iterable[DesiredObject]) -> DesiredState:
    """Return the desired state of the same project with just these objects."""
    every = tuple(objects)
    return replace(
        desired,
        topics=tuple(item for item in every if isinstance(item, DesiredTopic)),
        acls=tuple(item for item in every if isinstance(item, DesiredAcl)),
        quotas=tuple(item for item in every if isinstance(item, DesiredQuota)),
        virtual_clusters=tuple(item for item in every if isinstance(item, DesiredVirtualCluster)),
        links=tuple(item for item in every if isinstance(item, DesiredLink)),
        members=tuple(item for item in every if isinstance(item, DesiredMember)),
    )


def declared_object(address: str, last: Mapping[str, Json], located: Located) -> DesiredObject:
    """Read the declaration that ``plan.normal_form.last_applied`` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is not such a declaration.
    """
    return _READERS[last["kind"]](address, last, located)


def _policy(last: Mapping[str, Json]) -> tuple[DeletionPolicy, bool]:
    return DeletionPolicy(last["deletionPolicy"]), last["deletionPolicyWritten"]


def _topic(address: str, last: Mapping[str, Json], located: Located) -> DesiredTopic:
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
        located=located,
    )


def _acl(address: str, last: Mapping[str, Json], located: Located) -> DesiredAcl:
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
        located=located,
    )


def _quota(address: str, last: Mapping[str, Json], located: Located) -> DesiredQuota:
    policy, written = _policy(last)
    return DesiredQuota(
        address=address,
        entity=make_entity(last["entity"]),
        quotas={key: float(value) for key, value in last["quotas"].items()},
        deletion_policy=policy,
        deletion_policy_written=written,
        located=located,
    )


def _virtual_cluster(
    address: str, last: Mapping[str, Json], located: Located
) -> DesiredVirtualCluster:
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
        located=located,
    )


def _link(address: str, last: Mapping[str, Json], located: Located) -> DesiredLink:
    policy, written = _policy(last)
    target = last["target"]
    return DesiredLink(
        address=address,
        local=LocalName(last["virtualCluster"], last["name"]),
        topic=last["topic"],
        target=None if target is None else LocalName(target["virtualCluster"], target["topic"]),
        deletion_policy=policy,
        deletion_policy_written=written,
        located=located,
    )


def _member(address: str, last: Mapping[str, Json], located: Located) -> DesiredMember:
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
        located=located,
    )


_READERS: Mapping[str, Callable[[str, Mapping[str, Json], Located], DesiredObject]] = {
    "Topic": _topic,
    "Acl": _acl,
    "ClientQuota": _quota,
    "VirtualCluster": _virtual_cluster,
    "TopicLink": _link,
    "VirtualClusterBinding": _member,
    "ConsumerGroup": _member,
}
