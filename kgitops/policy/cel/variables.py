"""The variables of expressions: their types for each kind of request, and their values."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.resources.topics import TopicState
from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.interfaces import ClusterState
from kgitops.policy.cel.functions import INT, NULL, STRING, Type, list_of, map_of, record
from kgitops.policy.cel.objects import (
    ACL,
    BROKER_CHANGE,
    CONFIG_RESOURCE,
    CURRENT_BROKER,
    CURRENT_QUOTA,
    CURRENT_TOPIC,
    CURRENT_USER,
    GROUP,
    GROUP_OFFSETS,
    LINK,
    QUOTA_CHANGE,
    RECORDS,
    REQUESTED_BROKER,
    REQUESTED_LINK,
    REQUESTED_QUOTA,
    REQUESTED_TOPIC,
    REQUESTED_USER,
    TOPIC_CHANGE,
    USER_CHANGE,
    VIRTUAL_CLUSTER,
    VIRTUAL_CLUSTER_CHANGE,
    BeforeAndAfter,
    BrokerValue,
    JudgedUser,
    Quota,
    Record,
    RecordField,
)
from kgitops.policy.evaluate.policy_input import PolicyInput


def _links(policy_input: PolicyInput, _: ClusterState) -> object:
    return [
        {"virtualCluster": local.virtual_cluster, "name": local.name}
        for local in sorted(getattr(policy_input.request, "links", ()))
    ]


REQUEST = Record(
    "a request",
    {
        "api": RecordField(STRING, "CreateTopic, AlterTopic, … as in match."),
        "name": RecordField(
            STRING,
            "The name that match.names is compared with: of a topic or link, of an ACL's resource, "
            "in its virtual cluster where it is in one; of a quota its entity as in the address; "
            "of a broker its id; of a user its name; of a virtual cluster also where a member is "
            "altered.",
        ),
        "address": RecordField(STRING, "The object's address, such as topic/orders."),
        "virtualCluster": RecordField(
            STRING.or_null,
            "The virtual cluster that the object is in, or that is asked for; null for none.",
        ),
        "topic": RecordField(
            STRING.or_null,
            "The physical name of the topic, or of the topic behind a link; null for others.",
        ),
        "links": RecordField(
            list_of(
                record("a name in a virtual cluster", {"virtualCluster": STRING, "name": STRING})
            ),
            "The names by which virtual clusters see the topic: who is affected.",
            _links,
        ),
    },
)
LABELS = RecordField(
    map_of(STRING), "The document's `metadata.labels`; empty where no document asks for it."
)
"""A field of everything that is requested, read from the request itself."""
PRINCIPAL = Record(
    "a principal",
    {
        "type": RecordField(STRING, "User in most cases."),
        "name": RecordField(STRING, "What follows the colon."),
    },
)


CLUSTER = Record(
    "a cluster",
    {
        "size": RecordField(
            INT, "How many brokers are registered.", lambda _, cluster: cluster.cluster_size()
        ),
        "brokers": RecordField(
            list_of(record("a broker", {"id": INT, "rack": STRING.or_null})),
            "The brokers as `{id, rack}`; rack is null where none is configured.",
            lambda _, cluster: [
                {"id": broker.id, "rack": broker.rack} for broker in cluster.brokers()
            ],
        ),
        "topics": RecordField(
            INT,
            "How many topics, internal ones left out.",
            lambda _, cluster: cluster.topic_count(),
        ),
        "partitions": RecordField(
            INT, "How many partitions these topics have.", lambda _, cluster: cluster.partitions()
        ),
        "virtualClusters": RecordField(
            list_of(STRING),
            "The names of the virtual clusters.",
            lambda _, cluster: sorted(cluster.virtual_clusters()),
        ),
        "defaults": RecordField(
            map_of(STRING),
            "What a topic gets where it sets nothing.",
            lambda _, cluster: dict(cluster.default_configs()),
        ),
    },
)


ROOTS: Mapping[str, str] = MappingProxyType(
    {
        "request": "What is asked for.",
        "requested": "The whole object as it would be afterwards; null where it would be gone.",
        "current": "The object as it is; null where there is none.",
        "change": "What differs between the two; null for ACLs, links, deletions of records, "
        "groups, other resources with configs, and virtual clusters that come or go.",
        "cluster": "The cluster before the request.",
        "principal": "Who asks.",
    }
)
VARIABLES = "variables"
"""The prefix of a policy's own variables."""


class RequestVariables(Struct, frozen=True):
    """The records of the variables for one kind of request; None is always null."""

    requested: Record | None
    current: Record | None
    change: Record | None = None
    may_be_new: bool = False

    def types(self) -> Mapping[str, Type]:
        """The type of every variable."""
        current = _type(self.current)
        return {
            **_FIXED,
            "requested": _type(self.requested and labelled(self.requested)),
            "current": current.or_null if self.may_be_new else current,
            "change": _type(self.change),
        }


def labelled(requested: Record) -> Record:
    """The requested object, with the labels of the document that asks for it."""
    return Record(requested.name, {**requested.fields, "labels": LABELS})


def _type(record: Record | None) -> Type:
    return NULL if record is None else record.type


_FIXED = {"request": REQUEST.type, "principal": PRINCIPAL.type, "cluster": CLUSTER.type}

REQUEST_VARIABLES: Mapping[str, RequestVariables] = MappingProxyType(
    {
        "CreateTopic": RequestVariables(REQUESTED_TOPIC, None, TOPIC_CHANGE),
        "AlterTopic": RequestVariables(REQUESTED_TOPIC, CURRENT_TOPIC, TOPIC_CHANGE),
        "DeleteTopic": RequestVariables(None, CURRENT_TOPIC, TOPIC_CHANGE),
        "DeleteRecords": RequestVariables(RECORDS, CURRENT_TOPIC),
        "CreateAcl": RequestVariables(ACL, None),
        "DeleteAcl": RequestVariables(None, ACL),
        "AlterClientQuota": RequestVariables(
            REQUESTED_QUOTA, CURRENT_QUOTA, QUOTA_CHANGE, may_be_new=True
        ),
        "AlterBroker": RequestVariables(REQUESTED_BROKER, CURRENT_BROKER, BROKER_CHANGE),
        "AlterUserScramCredentials": RequestVariables(
            REQUESTED_USER, CURRENT_USER, USER_CHANGE, may_be_new=True
        ),
        "AlterConfigResource": RequestVariables(CONFIG_RESOURCE, None),
        "AlterConsumerGroupOffsets": RequestVariables(GROUP_OFFSETS, None),
        "DeleteConsumerGroup": RequestVariables(None, GROUP),
        "CreateVirtualCluster": RequestVariables(VIRTUAL_CLUSTER, None),
        "AlterVirtualCluster": RequestVariables(
            VIRTUAL_CLUSTER, VIRTUAL_CLUSTER, VIRTUAL_CLUSTER_CHANGE
        ),
        "DeleteVirtualCluster": RequestVariables(None, VIRTUAL_CLUSTER),
        "CreateTopicLink": RequestVariables(REQUESTED_LINK, None),
        "DeleteTopicLink": RequestVariables(None, LINK),
    }
)
"""By the api of the request."""


def types_of(api: str) -> Mapping[str, Type]:
    """The type of every variable for requests of this api."""
    return REQUEST_VARIABLES[api].types()


Selection: TypeAlias = "Mapping[str, Selection] | None"
"""The parts that expressions read, by name, and of each its own; None for all."""


def read_variables(
    policy_input: PolicyInput, cluster: ClusterState, selection: Selection
) -> dict[str, object]:
    """Read the values of the variables, with the selected fields and their keys, and no others."""
    selection = dict.fromkeys(ROOTS) if selection is None else selection
    shape = REQUEST_VARIABLES[policy_input.api]
    before, after = _sides(policy_input, cluster)
    alters = isinstance(policy_input.request, policy_requests.AlterVirtualClusterRequest)
    change = policy_input.request if alters else BeforeAndAfter(before, after)
    sources: dict[str, tuple[Record | None, Any]] = {
        "request": (REQUEST, policy_input),
        "requested": (shape.requested, after),
        "current": (shape.current, before),
        "change": (shape.change, change),
        "cluster": (CLUSTER, cluster),
        "principal": (PRINCIPAL, policy_input.request.principal),
    }
    values = {name: _fields(*sources[name], cluster, fields) for name, fields in selection.items()}
    requested, fields = values.get("requested"), selection.get("requested", {})
    if requested is not None and (fields is None or "labels" in fields):
        requested["labels"] = dict(policy_input.request.labels)
    return dict(values)


def _fields(
    record: Record | None, value: object, cluster: ClusterState, selection: Selection
) -> dict[str, object] | None:
    if record is None or value is None:
        return None
    names = None if selection is None else frozenset(selection)
    found = {name: read_field(value, cluster) for name, read_field in _readers(record, names)}
    for name, keys in (selection or {}).items():
        whole = found.get(name)
        if keys is not None and isinstance(whole, Mapping):
            found[name] = {key: whole[key] for key in keys if key in whole}
    return found


@cache
def _readers(
    record: Record, names: frozenset[str] | None
) -> tuple[tuple[str, Callable[[Any, ClusterState], object]], ...]:
    return tuple(
        (name, record.reader(name)) for name in record.fields if names is None or name in names
    )


def _sides(policy_input: PolicyInput, cluster: ClusterState) -> tuple[object, object]:
    """The object before and after the request, None where there is none."""
    match policy_input.request:
        case policy_requests.CreateTopicRequest() as request:
            return None, _called(request, request.requested_state)
        case policy_requests.AlterTopicRequest() as request:
            before = cluster.topic_state(request.topic)
            return _called(request, before), _called(request, request.requested_state)
        case policy_requests.DeleteTopicRequest() as request:
            return _called(request, cluster.topic_state(request.topic)), None
        case policy_requests.DeleteRecordsRequest() as request:
            return _called(request, cluster.topic_state(request.topic)), request
        case policy_requests.CreateAclRequest() as request:
            return None, request.binding
        case policy_requests.DeleteAclRequest() as request:
            return request.binding, None
        case policy_requests.AlterClientQuotaRequest() as request:
            return _quota_sides(request, cluster)
        case policy_requests.AlterBrokerRequest() as request:
            state = request.requested_state
            known = cluster.broker_state().configs
            return (
                BrokerValue(request.broker_id, known, {}),
                BrokerValue(request.broker_id, state.configs, state.requested_configs),
            )
        case policy_requests.AlterUserScramCredentialsRequest() as request:
            return _user_sides(request, cluster)
        case (
            policy_requests.AlterConfigResourceRequest()
            | policy_requests.AlterConsumerGroupOffsetsRequest()
        ) as request:
            return None, request
        case policy_requests.DeleteConsumerGroupRequest() as request:
            return request, None
        case policy_requests.CreateVirtualClusterRequest() as request:
            return None, request.requested_state
        case policy_requests.AlterVirtualClusterRequest() as request:
            return request.current_state, request.requested_state
        case policy_requests.DeleteVirtualClusterRequest() as request:
            return cluster.virtual_cluster(request.virtual_cluster), None
        case policy_requests.CreateTopicLinkRequest() as request:
            return None, request
        case policy_requests.DeleteTopicLinkRequest() as request:
            return request, None
        case request:
            assert_never(request)


def _called(request: policy_requests.TopicRequest, topic: TopicState | None) -> TopicState | None:
    """The topic by its name in its virtual cluster, where it is in one (VC-065)."""
    if topic is None or request.local is None:
        return topic
    return replace(topic, name=request.local.name)


def _quota_sides(
    request: policy_requests.AlterClientQuotaRequest, cluster: ClusterState
) -> tuple[Quota | None, Quota]:
    held = cluster.quotas(request.entity)
    state = request.requested_state
    named = {
        key: None if value is None else float(value)
        for key, value in state.requested_quotas.items()
    }
    return (
        Quota(request.entity, _doubles(held), {}) if held else None,
        Quota(request.entity, _doubles(state.quotas), named),
    )


def _user_sides(
    request: policy_requests.AlterUserScramCredentialsRequest, cluster: ClusterState
) -> tuple[JudgedUser | None, JudgedUser]:
    held = dict(cluster.user_credentials(request.user))
    mechanism = str(request.mechanism)
    after = {key: iterations for key, iterations in held.items() if key != mechanism}
    if request.iterations is not None:
        after[mechanism] = request.iterations
    return (
        JudgedUser(request.user, held) if held else None,
        JudgedUser(request.user, after, mechanism, request.iterations),
    )


def _doubles(quotas: Mapping[str, float]) -> dict[str, float]:
    return {key: float(value) for key, value in quotas.items()}
