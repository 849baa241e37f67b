"""Values for tests that name only what matters: declared objects, clusters, owners.

A keyword that is left out takes the plainest value. What is declared belongs to the project
``payments``; a topic's id follows from its name.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.model.cluster_state import (
    Broker,
    Capabilities,
    ClusterState,
    TopicUsage,
    Validator,
    VirtualClusterSupport,
    address_of,
)
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredBrokerConfig,
    DesiredClientMetrics,
    DesiredCredential,
    DesiredGroup,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    OffsetReset,
    Tombstone,
    last_applied,
)
from kgitops.model.registry import Owner, RegistryState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import (
    acl_address,
    config_resource_address,
    group_address,
    quota_address,
    topic_address,
    user_address,
)
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.users import FoundUser, PasswordSource, ScramMechanism
from kgitops.model.source import Source
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.planner import make_plan
from kgitops.policy import testing

PROJECT = "payments"
UID = "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"
APIS = (
    "CreateTopic", "AlterTopic", "DeleteTopic", "DeleteRecords", "CreateAcl", "DeleteAcl",
    "AlterClientQuota", "AlterBroker", "CreateVirtualCluster", "AlterVirtualCluster",
    "DeleteVirtualCluster", "CopyGroupOffsets", "DeleteGroup", "AlterUserScramCredentials",
    "AlterConfigResource", "AlterConsumerGroupOffsets", "DeleteConsumerGroup",
)  # fmt: skip
ALL_CAPABILITIES = Capabilities(
    backend="embedded",
    validation=dict.fromkeys(APIS, Validator.BROKER),
    virtual_clusters=VirtualClusterSupport.NATIVE,
)

IN_ENVIRONMENT = PasswordSource(env="SALES_APP_PASSWORD")

ClusterObject = TopicState | AclBinding | ClientQuotaState | FoundUser | FoundGroup | FoundConfigs


class Place(Struct, frozen=True):
    """Where a document stands: a field's place is spelt ``orders.yaml#spec.partitions:1:1``."""

    file: str

    @property
    def source(self) -> Source:
        return Source(self.file, 1, 1)

    def at(self, *path: str | int) -> Source:
        return Source(f"{self.file}#{'.'.join(map(str, path))}", 1, 1)


def a_topic(
    name: str = "orders",
    *,
    partitions: int = 3,
    replication_factor: int = 2,
    assignment: Assignment | None = None,
    configs: Mapping[str, str] | None = None,
    delete_records_before: Mapping[int, int] | None = None,
    deletion_policy: DeletionPolicy | None = None,
    configs_policy: ConfigsPolicy = ConfigsPolicy.DECLARED,
) -> DesiredTopic:
    """A declared topic; a ``deletion_policy`` that is given counts as written."""
    return DesiredTopic(
        address=topic_address(name),
        name=name,
        partitions=len(assignment) if assignment else partitions,
        replication_factor=len(assignment[0]) if assignment else replication_factor,
        assignment=assignment,
        configs=configs or {},
        delete_records_before=delete_records_before or {},
        deletion_policy=deletion_policy or DeletionPolicy.PROTECT,
        deletion_policy_written=deletion_policy is not None,
        configs_policy=configs_policy,
        located=Place(f"{name}.yaml"),
    )


def a_binding(
    principal: str = "User:billing", operation: str = "Read", name: str = "orders", **more: str
) -> AclBinding:
    """``Allow User:billing to Read the topic orders from anywhere``, but for what is given."""
    return testing.acl(principal, operation, name, **more)


def a_user(
    name: str = "sales-app",
    *,
    iterations: int = 8192,
    version: str | None = None,
    mechanisms: Iterable[ScramMechanism] = (ScramMechanism.SHA_512,),
    password: PasswordSource = IN_ENVIRONMENT,
    deletion_policy: DeletionPolicy | None = None,
    at: str | None = None,
) -> DesiredUser:
    """A declared user, whose password is in the environment."""
    credential = DesiredCredential(iterations=iterations, password=password, version=version)
    return DesiredUser(
        address=user_address(name),
        name=name,
        credentials=dict.fromkeys(mechanisms, credential),
        virtual_cluster=at,
        deletion_policy=deletion_policy or DeletionPolicy.PROTECT,
        deletion_policy_written=deletion_policy is not None,
        located=Place("users.yaml"),
    )


def an_acl(
    binding: AclBinding | None = None, *, deletion_policy: DeletionPolicy | None = None
) -> DesiredAcl:
    """A declared binding."""
    binding = binding or a_binding()
    return DesiredAcl(
        address=acl_address(binding),
        binding=binding,
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place("acls.yaml"),
    )


def an_entity(**names: str | None) -> ClientQuotaEntity:
    """``an_entity(user="billing", client_id=None)``: None is the default entity."""
    return testing.entity(**names)


def a_quota(
    entity: ClientQuotaEntity = (("user", "billing"),),
    *,
    deletion_policy: DeletionPolicy | None = None,
    **quotas: float,
) -> DesiredQuota:
    """The declared quotas of one entity, say ``a_quota(consumer_byte_rate=1024)``."""
    return DesiredQuota(
        address=quota_address(entity),
        entity=entity,
        quotas={key: float(value) for key, value in quotas.items()} or {"producer_byte_rate": 1.0},
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place("quotas.yaml"),
    )


def a_consumer_group(
    name: str = "billing",
    *,
    configs: Mapping[str, str] | None = None,
    reset: OffsetReset | None = None,
    deletion_policy: DeletionPolicy | None = None,
) -> DesiredGroup:
    """A declared group outside of virtual clusters."""
    return DesiredGroup(
        address=group_address(name),
        name=name,
        configs=configs or {},
        reset=reset,
        deletion_policy=deletion_policy or DeletionPolicy.PROTECT,
        deletion_policy_written=deletion_policy is not None,
        located=Place("groups.yaml"),
    )


def some_client_metrics(
    name: str = "lag", *, deletion_policy: DeletionPolicy | None = None, **configs: str
) -> DesiredClientMetrics:
    """A declared subscription; ``interval_ms="1000"`` gives a config."""
    given = {key.replace("_", "."): value for key, value in configs.items()}
    return DesiredClientMetrics(
        address=config_resource_address(ConfigResourceType.CLIENT_METRICS, name),
        name=name,
        configs=given or {"interval.ms": "60000"},
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place("metrics.yaml"),
    )


def some_broker_configs(
    name: str = "<default>", *, deletion_policy: DeletionPolicy | None = None, **configs: str
) -> DesiredBrokerConfig:
    """Declared configs of brokers; ``num_io_threads="9"`` gives one."""
    given = {key.replace("_", "."): value for key, value in configs.items()}
    return DesiredBrokerConfig(
        address=config_resource_address(ConfigResourceType.BROKER, name),
        name=name,
        configs=given or {"num.io.threads": "12"},
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place("brokers.yaml"),
    )


def some_configs(kind: ConfigResourceType, name: str, configs: Mapping[str, str]) -> FoundConfigs:
    """What a cluster holds of a resource."""
    return FoundConfigs(type=kind, name=name, configs=configs)


def with_configs(state: ClusterState, *found: FoundConfigs) -> ClusterState:
    """The cluster with these resources, and no others."""
    others = {key: it for key, it in state.objects.items() if not isinstance(it, FoundConfigs)}
    return replace(state, objects=others | {address_of(it): it for it in found})


def a_tombstone(
    target: DesiredObject | str, *, topic_id: str | None = None, name: str = "drop"
) -> Tombstone:
    """A Tombstone for a declared object's address."""
    return Tombstone(
        name=name,
        address=target if isinstance(target, str) else target.address,
        reason="no longer needed",
        topic_id=topic_id,
        located=Place(f"{name}.yaml"),
    )


def a_desired(
    *objects: DesiredObject | Tombstone,
    project: str = PROJECT,
    uid: str | None = UID,
    formerly: Iterable[str] = (),
    take_from: Iterable[str] = (),
    whole: bool = True,
    targets: Iterable[str] = (),
    excludes: Iterable[str] = (),
    other_clusters: Iterable[str] = (),
    safety: Safety | None = None,
    principal: str = "User:kgitops",
) -> DesiredState:
    """What a project asks for, in the order of addresses."""
    ordered = sorted(objects, key=lambda item: item.address)
    return DesiredState(
        project=Project(
            name=project, uid=uid, formerly=tuple(formerly), take_from=tuple(take_from)
        ),
        scope=ManagedScope(
            whole=whole,
            other_clusters=frozenset(other_clusters),
            targets=frozenset(targets),
            excludes=frozenset(excludes),
        ),
        safety=safety or Safety(replication_throttle=0),
        principal=principal,
        tombstones=tuple(item for item in ordered if isinstance(item, Tombstone)),
        digest="sha256:" + "d" * 64,
    ).with_objects(item for item in ordered if not isinstance(item, Tombstone))


def an_owner(
    declared: DesiredObject,
    *,
    project: str = UID,
    topic_id: str | None = None,
    adopted: bool = False,
    spent: bool = False,
) -> Owner:
    """The registry's record of an object that was applied as it is declared."""
    if topic_id is None and isinstance(declared, DesiredTopic):
        topic_id = id_of(declared.name)
    return Owner(
        project=project,
        topic_id=topic_id,
        adopted=adopted,
        spent=spent,
        last_applied=last_applied(declared),
    )


def id_of(name: str) -> str:
    """The topic id that a test's topic has if nothing else is said."""
    return f"id-of-{name}"


def a_topic_state(
    name: str = "orders",
    *,
    partitions: int = 3,
    replication_factor: int = 2,
    assignment: Assignment | None = None,
    configs: Mapping[str, str] | None = None,
    topic_id: str | None = None,
    reassigning: bool = False,
    marked_for_deletion: bool = False,
) -> TopicState:
    """A topic on the cluster; replicas stand on the brokers 1, 2, 3 in turn."""
    return TopicState(
        name=name,
        topic_id=topic_id or id_of(name),
        assignment=assignment or in_turn(partitions, replication_factor),
        configs=configs or {},
        reassigning=reassigning,
        marked_for_deletion=marked_for_deletion,
    )


def in_turn(partitions: int, replication_factor: int, brokers: int = 3) -> Assignment:
    """Replicas on the brokers 1, 2, … in turn."""
    return tuple(
        tuple((partition + replica) % brokers + 1 for replica in range(replication_factor))
        for partition in range(partitions)
    )


def a_quota_state(
    entity: ClientQuotaEntity = (("user", "billing"),), **quotas: float
) -> ClientQuotaState:
    """The quotas of an entity on the cluster."""
    return ClientQuotaState(entity=entity, quotas={k: float(v) for k, v in quotas.items()})


def a_cluster(
    *objects: ClusterObject,
    brokers: Iterable[Broker] | int = 3,
    owners: Mapping[str, Owner] | None = None,
    projects: Mapping[str, str] | None = None,
    formerly: Mapping[str, tuple[str, ...]] | None = None,
    usage: Mapping[str, TopicUsage] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
) -> ClusterState:
    """A cluster of three brokers that holds these objects; without owners it has no registry."""
    if isinstance(brokers, int):
        brokers = [Broker(id=number) for number in range(1, brokers + 1)]
    registry = None
    if owners is not None or projects is not None:
        registry = RegistryState(
            topic_id="registry",
            offset=7,
            projects={UID: PROJECT} if projects is None else projects,
            formerly=formerly or {},
            owners=owners or {},
        )
    found = [
        item
        for item in objects
        if isinstance(item, FoundUser | FoundConfigs)
        or (isinstance(item, FoundGroup) and item.exists)
    ]
    return ClusterState(
        cluster_id="5L6g3nShTeMCtKA8X86swQ",
        backend="embedded",
        brokers=tuple(brokers),
        topics={item.name: item for item in objects if isinstance(item, TopicState)},
        acls=frozenset(item for item in objects if isinstance(item, AclBinding)),
        quotas={item.entity: item for item in objects if isinstance(item, ClientQuotaState)},
        objects={address_of(item): item for item in found},
        asked=frozenset({Kind.USER} if any(isinstance(it, FoundUser) for it in found) else ()),
        usage=usage or {},
        broker_defaults=broker_defaults or {},
        registry=registry,
    )


def on_cluster(declared: DesiredObject) -> ClusterObject:
    """A declared object as it stands on the cluster once it is applied."""
    match declared:
        case DesiredTopic():
            return a_topic_state(
                declared.name,
                assignment=declared.assignment
                or in_turn(declared.partitions, declared.replication_factor),
                configs=declared.configs,
            )
        case DesiredAcl():
            return declared.binding
        case DesiredQuota():
            return ClientQuotaState(entity=declared.entity, quotas=declared.quotas)
        case DesiredUser():
            held = {key: item.iterations for key, item in declared.credentials.items()}
            return FoundUser(name=declared.name, held=held)
        case DesiredGroup():
            return FoundGroup(name=declared.name, configs=declared.configs)
        case DesiredClientMetrics():
            return some_configs(ConfigResourceType.CLIENT_METRICS, declared.name, declared.configs)
        case DesiredBrokerConfig():
            return some_configs(ConfigResourceType.BROKER, declared.name, declared.configs)
        case _:
            raise TypeError(f"{declared.address} is a part of a virtual cluster")


def applied(
    *declared: DesiredObject,
    project: str = UID,
    adopted: bool = False,
    brokers: Iterable[Broker] | int = 3,
    beside: Iterable[ClusterObject] = (),
    usage: Mapping[str, TopicUsage] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
) -> ClusterState:
    """A cluster to which these objects were applied, with what else stands there ``beside``."""
    return a_cluster(
        *map(on_cluster, declared),
        *beside,
        brokers=brokers,
        owners={
            item.address: an_owner(item, project=project, adopted=adopted) for item in declared
        },
        projects={project: PROJECT if project == UID else project},
        usage=usage,
        broker_defaults=broker_defaults,
    )


def with_changes(
    state: ClusterState, *objects: ClusterObject, gone: Iterable[ClusterObject] = ()
) -> ClusterState:
    """The cluster after somebody else set ``objects`` and deleted what is ``gone``."""
    gone = tuple(gone)
    names = {item.name for item in gone if isinstance(item, TopicState)}
    entities = {item.entity for item in gone if isinstance(item, ClientQuotaState)}
    topics = {name: topic for name, topic in state.topics.items() if name not in names}
    quotas = {key: quota for key, quota in state.quotas.items() if key not in entities}
    acls = state.acls - {item for item in gone if isinstance(item, AclBinding)}
    return replace(
        state,
        topics=topics | {item.name: item for item in objects if isinstance(item, TopicState)},
        quotas=quotas
        | {item.entity: item for item in objects if isinstance(item, ClientQuotaState)},
        acls=acls | {item for item in objects if isinstance(item, AclBinding)},
    )


def plan_of(
    desired: DesiredState, current: ClusterState, capabilities: Capabilities = ALL_CAPABILITIES
) -> Plan:
    """The plan for the cluster named ``local``."""
    return make_plan(desired, current, target_name="local", capabilities=capabilities)


def change_of(plan: Plan, declared: DesiredObject) -> Change:
    """The change of one object, of a plan that has no reason to stop."""
    assert not plan.verdict.stops, plan.verdict.reasons
    (change,) = (change for change in plan.changes if change.address == declared.address)
    return change


def only_change(plan: Plan) -> Change:
    """The one change of a plan that has no reason to stop."""
    assert not plan.verdict.stops, plan.verdict.reasons
    (change,) = plan.changes
    return change
