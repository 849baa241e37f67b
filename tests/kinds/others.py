"""What other tools do behind a project's back to an object of each kind."""

from collections.abc import Mapping

from strategies import SALTED

from kgitops.cluster.port import Cluster
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterStep,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    DeleteAclRequest,
    Request,
    SaltedCredentialsRequest,
)
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LoweringOptions,
)

OTHER = "User:other"


def configs(kind: ConfigResourceType, name: str, **values: str | None) -> Request:
    return AlterConfigResourceRequest(
        resource_type=kind,
        resource_name=name,
        configs={key.replace("_", "."): value for key, value in values.items()},
    )


def removal(virtual_cluster: str, kind: EntityType, name: str) -> Request:
    return AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=kind,
        entity_name=name,
    )


WRITER = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=PatternType.LITERAL,
    principal="User:writer",
    host="*",
    operation=Operation.WRITE,
    permission_type=PermissionType.ALLOW,
)
SESSION = "consumer_session_timeout_ms"

CHANGES: Mapping[str, Mapping[str, Request | None]] = {
    "Topic": {"topic/orders": None},
    "TopicLink": {"vc/apac/link/shared": removal("apac", EntityType.TOPIC, "shared")},
    "Acl": {acl_address(WRITER): DeleteAclRequest(binding=WRITER)},
    "ClientQuota": {
        "quota/user=billing": AlterClientQuotaRequest(
            entity=(("user", "billing"),), quotas={"consumer_byte_rate": 5.0}
        )
    },
    "User": {
        "user/by-file": AlterUserScramCredentialsRequest(
            user="by-file", mechanism=ScramMechanism.SHA_512
        ),
        "user/by-variable": SaltedCredentialsRequest(
            user="by-variable", mechanism=ScramMechanism.SHA_512, iterations=5000, salted=SALTED
        ),
    },
    "ConsumerGroup": {
        "group/configured": configs(ConfigResourceType.GROUP, "configured", **{SESSION: "51000"}),
        "vc/emea/group/plain": removal("emea", EntityType.GROUP, "plain"),
    },
    "ClientMetrics": {
        "client-metrics/lag": configs(ConfigResourceType.CLIENT_METRICS, "lag", interval_ms="7000"),
        "client-metrics/kept": configs(ConfigResourceType.CLIENT_METRICS, "kept", interval_ms=None),
    },
    "BrokerConfig": {
        "broker-config/<default>": configs(
            ConfigResourceType.BROKER, "<default>", num_io_threads="10"
        ),
        "broker-config/1": configs(ConfigResourceType.BROKER, "1", background_threads=None),
    },
    "VirtualCluster": {
        "vc/emea": AlterVirtualClusterRequest(
            virtual_cluster="emea", options=LoweringOptions(cap_lowering=CapLowering.NONE)
        )
    },
    "VirtualClusterBinding": {"vc/apac/client/c-1": removal("apac", EntityType.CLIENT_ID, "c-1")},
}
"""What somebody else does to an object of each kind; the change of a topic needs its id."""


def change_behind(cluster: Cluster) -> tuple[str, ...]:
    """Change an object of every kind, and name what was changed."""
    changes = {address: it for by_address in CHANGES.values() for address, it in by_address.items()}
    for request in changes.values():
        change = request or topic_change(cluster)
        (result,) = cluster.execute([change], validate_only=False, principal=OTHER)
        assert result.ok, result
    return tuple(changes)


def topic_change(cluster: Cluster) -> Request:
    """A shorter retention of the topic orders."""
    found = cluster.read_state().topics["orders"]
    return AlterTopicRequest(
        topic="orders",
        topic_id=found.topic_id or "",
        step=AlterStep.CONFIGS,
        requested_state=RequestedTopicState(
            name="orders",
            topic_id=found.topic_id,
            assignment=found.assignment,
            configs={**found.configs, "retention.ms": "5"},
            requested_configs={"retention.ms": "5"},
        ),
    )
