"""The project's last applied declarations as a desired state: a plan for it shows the drift."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.claims import former_identities
from kgitops.desired.state import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredClientMetrics,
    DesiredCredential,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
    ManagedScope,
    MembersMode,
    OffsetReset,
    Project,
    Safety,
)
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.codec import from_json
from kgitops.model.registry import Json, RegistryState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.source import Located, Source

ORIGIN = "origin"
"""The key in ``last_applied`` of a copied ACL that names its member and the source."""


class RegistrySource(Struct, frozen=True):
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
    state = DesiredState(
        project=project,
        scope=ManagedScope(whole=True, takes_over=False),
        safety=safety,
        principal=principal,
        digest=digest,
    )
    return state.with_objects(objects)


def declared_object(address: str, last: Mapping[str, Json], located: Located) -> DesiredObject:
    """Read the declaration that ``plan.normal_form.last_applied`` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is not such a declaration.
    """
    return replace(
        _READERS[last["kind"]](address, last, located),
        deletion_policy=DeletionPolicy(last["deletionPolicy"]),
        deletion_policy_written=last["deletionPolicyWritten"],
    )


def _topic(address: str, last: Mapping[str, Json], located: Located) -> DesiredTopic:
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
        configs_policy=ConfigsPolicy(last["configsPolicy"]),
        virtual_cluster=last.get("virtualCluster"),
        share_with=tuple(last.get("shareWith", ())),
        located=located,
    )


def _acl(address: str, last: Mapping[str, Json], located: Located) -> DesiredAcl:
    return DesiredAcl(address=address, binding=binding_of(last), located=located)


def binding_of(view: Mapping[str, Json]) -> AclBinding:
    """Read the binding that ``plan.normal_form.acl_view`` wrote."""
    resource = view["resource"]
    return AclBinding(
        resource_type=ResourceType(resource["type"]),
        resource_name=resource["name"],
        pattern_type=PatternType(resource["patternType"]),
        principal=view["principal"],
        host=view["host"],
        operation=Operation(view["operation"]),
        permission_type=PermissionType(view["permission"]),
        virtual_cluster=view.get("virtualCluster", CLUSTER_NAME),
        virtual_cluster_pattern_type=PatternType(
            view.get("virtualClusterPatternType", PatternType.LITERAL)
        ),
    )


def _quota(address: str, last: Mapping[str, Json], located: Located) -> DesiredQuota:
    return DesiredQuota(
        address=address,
        entity=make_entity(last["entity"]),
        quotas={key: float(value) for key, value in last["quotas"].items()},
        located=located,
    )


def _user(address: str, last: Mapping[str, Json], located: Located) -> DesiredUser:
    return DesiredUser(
        address=address,
        name=last["name"],
        credentials=credentials_of(last["scram"]),
        virtual_cluster=last.get("virtualCluster"),
        located=located,
    )


def credentials_of(view: Mapping[str, Json]) -> dict[ScramMechanism, DesiredCredential]:
    """Read the credentials that ``digest.credentials_view`` wrote.

    Raises:
        KeyError, TypeError, ValueError: they are of another shape.
    """
    return {
        ScramMechanism(mechanism): DesiredCredential(
            iterations=item["iterations"],
            password=from_json(PasswordSource, item["password"], "password"),
            version=item["version"],
        )
        for mechanism, item in view.items()
    }


def _group(address: str, last: Mapping[str, Json], located: Located) -> DesiredObject:
    if "virtualCluster" in last:
        return _member(address, last, located)
    reset = last["resetOffsets"]
    return DesiredGroup(
        address=address,
        name=last["name"],
        configs=last["configs"],
        reset=None if reset is None else reset_of(reset),
        located=located,
    )


def reset_of(view: Mapping[str, Json]) -> OffsetReset:
    """Read the reset that ``digest.reset_view`` wrote."""
    timestamp = view["timestamp"]
    return OffsetReset(
        version=view["version"],
        position=view["position"],
        timestamp_ms=None if timestamp is None else int(timestamp),
        offsets={
            topic: {int(partition): int(at) for partition, at in partitions.items()}
            for topic, partitions in view["offsets"].items()
        },
        topics=tuple(view["topics"]),
    )


def _client_metrics(
    address: str, last: Mapping[str, Json], located: Located
) -> DesiredClientMetrics:
    return DesiredClientMetrics(
        address=address, name=last["name"], configs=last["configs"], located=located
    )


def _virtual_cluster(
    address: str, last: Mapping[str, Json], located: Located
) -> DesiredVirtualCluster:
    lowering = last["lowering"]
    return DesiredVirtualCluster(
        address=address,
        name=last["name"],
        mode=MembersMode(last["mode"]),
        options=LoweringOptions(
            cap_lowering=CapLowering(lowering["capLowering"]), deny_wins=lowering["denyWins"]
        ),
        located=located,
    )


def _link(address: str, last: Mapping[str, Json], located: Located) -> DesiredLink:
    target = last["target"]
    return DesiredLink(
        address=address,
        local=LocalName(last["virtualCluster"], last["name"]),
        topic=last["topic"],
        target=None if target is None else LocalName(target["virtualCluster"], target["topic"]),
        located=located,
    )


def _member(address: str, last: Mapping[str, Json], located: Located) -> DesiredMember:
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
        located=located,
    )


_READERS: Mapping[str, Callable[[str, Mapping[str, Json], Located], DesiredObject]] = {
    "Topic": _topic,
    "Acl": _acl,
    "ClientQuota": _quota,
    "User": _user,
    "VirtualCluster": _virtual_cluster,
    "TopicLink": _link,
    "VirtualClusterBinding": _member,
    "ConsumerGroup": _group,
    "ClientMetrics": _client_metrics,
}
