"""The requests that ``policy audit`` judges, in their order: a policy sees those before."""

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import request_address
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster, generated_topic_name
from kgitops.workflow.policy_audit import requests_of

_ENTITY = (("user", "app"),)
_MADE = generated_topic_name("0b6e1f0e-3a5c-4d27-9f1e-5a2f4b9d8c01", "sales")
_NORTH = VirtualCluster(
    name="north",
    links={
        "sales": TopicLink(name="sales", topic=_MADE),
        "old": TopicLink(name="old", topic="orders"),
    },
    users=frozenset({"User:app"}),
    groups={"billing": None},
)
_BINDING = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=PatternType.LITERAL,
    principal="User:app",
    host="*",
    operation=Operation.READ,
    permission_type=PermissionType.ALLOW,
)
_OBJECTS = (
    FoundGroup(name="billing", configs={"consumer.session.timeout.ms": "50000"}),
    FoundGroup(name="without-configs"),
    FoundConfigs(
        type=ConfigResourceType.CLIENT_METRICS, name="lag", configs={"interval.ms": "60000"}
    ),
    FoundConfigs(type=ConfigResourceType.BROKER, name="1", configs={"log.cleaner.threads": "2"}),
    FoundUser(name="app", held={ScramMechanism.SHA_256: 4096}),
)


def _topic(name: str) -> TopicState:
    return TopicState(name=name, topic_id=None, assignment=((1,),))


def test_what_others_are_about_comes_first() -> None:
    current = ClusterState(
        cluster_id="c",
        backend="embedded",
        topics={name: _topic(name) for name in ("orders", _MADE, "__consumer_offsets")},
        acls=frozenset({_BINDING}),
        quotas={_ENTITY: ClientQuotaState(entity=_ENTITY, quotas={"producer_byte_rate": 1.0})},
        virtual_clusters={"north": _NORTH},
    ).with_objects(_OBJECTS, Kind.USER)
    assert [request_address(request) for request in requests_of(current, {})] == [
        "vc/north",
        "vc/north/topic/sales",
        "topic/orders",
        "vc/north/link/old",
        "acl/User:app/Allow/Read/topic/literal/orders@*",
        "quota/user=app",
        "vc/north/group/billing",
        "vc/north/user/User:app",
        "user/app",
        "broker-config/1",
        "client-metrics/lag",
        "group/billing",
    ]
