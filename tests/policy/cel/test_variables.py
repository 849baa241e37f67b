"""The variables of every kind of request are what the documented types say."""

import pytest
from policy.asking import deletion
from policy.cel.writing import alteration, creation, findings, judged, one, said, state, topic

from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import CLIENT_ID, IP, USER, ClientQuotaState, make_entity
from kgitops.policy.cel.functions import Type, TypeKind
from kgitops.policy.cel.rule import samples
from kgitops.policy.cel.variables import REQUEST_VARIABLES, ROOTS, read_variables

ENTITY = make_entity({USER: "billing", CLIENT_ID: None})
BINDING = AclBinding(
    resource_type=ResourceType.TRANSACTIONAL_ID,
    resource_name="tx-",
    pattern_type=PatternType.PREFIXED,
    principal="User:billing",
    host="10.0.0.1",
    operation=Operation.WRITE,
    permission_type=PermissionType.DENY,
)
_OF_KIND: dict[TypeKind, type] = {
    TypeKind.BOOL: bool,
    TypeKind.INT: int,
    TypeKind.DOUBLE: float,
    TypeKind.STRING: str,
    TypeKind.MAP: dict,
    TypeKind.RECORD: dict,
}


def check(value: object, type_: Type, path: str) -> None:
    if type_.kind is TypeKind.NULL or (value is None and type_.nullable):
        assert value is None, path
        return
    if type_.kind is TypeKind.LIST:
        assert isinstance(value, list | tuple), path
        for item in value:
            check(item, type_.items, f"{path}[]")
        return
    assert type(value) is _OF_KIND[type_.kind], path
    if isinstance(value, dict) and type_.fields is not None:
        assert value.keys() == type_.fields.keys(), path
        for name, field in type_.fields.items():
            check(value[name], field, f"{path}.{name}")
    elif isinstance(value, dict):
        for key, item in value.items():
            check(key, type_.keys, f"{path} key")
            check(item, type_.items, f"{path}[{key}]")


@pytest.mark.parametrize("api", REQUEST_VARIABLES)
def test_values_have_the_documented_types(api: str) -> None:
    types = REQUEST_VARIABLES[api].types()
    seen = 0
    for sample in samples(api, ["min.insync.replicas"]):
        values = read_variables(sample.policy_input, sample.cluster, dict.fromkeys(ROOTS))
        for name, value in values.items():
            check(value, types[name], f"{api}: {name}")
            seen += 1
    assert seen >= 2 * len(ROOTS)


@pytest.mark.parametrize("api", REQUEST_VARIABLES)
def test_only_what_is_wanted_is_read(api: str) -> None:
    sample = next(samples(api, []))
    values = read_variables(sample.policy_input, sample.cluster, {"request": {"api": None}})
    assert values == {"request": {"api": api}}


TOPIC = topic("orders", {"a": "1", "b": "2"}, ((1, 2), (2, 1)))
ALTERED = alteration(TOPIC, {"a": "3", "c": "4"}, ((1, 2), (1, 2), (3, 1)))


@pytest.mark.parametrize(
    "expression",
    [
        "request.api == 'AlterTopic' && request.name == 'orders'",
        "request.address == 'topic/orders'",
        "requested.name == 'orders' && requested.partitions == 3",
        "requested.replicationFactor == 2 && !requested.internal",
        "requested.assignments == [[1, 2], [1, 2], [3, 1]]",
        "requested.configs == {'a': '3', 'c': '4'}",
        "requested.requestedConfigs == {'a': '3', 'b': null, 'c': '4'}",
        "!requested.generatedAssignments && !current.reassigning",
        "current.configs == {'a': '1', 'b': '2'} && current.partitions == 2",
        "change.configs.map(k, k) == ['a', 'b', 'c']",
        "change.configs['a'] == {'before': '1', 'after': '3'}",
        "change.configs['b'] == {'before': '2', 'after': null}",
        "change.configs['c'] == {'before': null, 'after': '4'}",
        "change.partitions == 1 && change.replicationFactor == 0 && change.replicas",
        "principal.type == 'User' && principal.name == 'kgitops'",
        "cluster.size == 3 && cluster.brokers[0] == {'id': 1, 'rack': 'rack-1'}",
    ],
)
def test_an_alteration_of_a_topic(expression: str) -> None:
    assert said(one(expression, requests=["AlterTopic"]), ALTERED, state(TOPIC)) == ""


def test_two_spellings_of_a_value_are_no_change() -> None:
    """A plan writes Kafka's normal form; a broker is asked in whatever spelling a client chose."""
    before = topic(configs={"cleanup.policy": "delete,compact", "retention.ms": "01000"})
    after = alteration(before, {"cleanup.policy": " compact, delete", "retention.ms": "1000"})
    assert (
        said(one("size(change.configs) == 0", requests=["AlterTopic"]), after, state(before)) == ""
    )


def test_replicas_that_only_change_their_order_count_as_moved() -> None:
    after = alteration(TOPIC, assignment=((2, 1), (2, 1)))
    text = one("!change.replicas", requests=["AlterTopic"])
    assert said(text, after, state(TOPIC)) != ""
    assert said(text, alteration(TOPIC, {}), state(TOPIC)) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "current == null && change.partitions == 3 && !change.replicas",
        "change.configs['a'] == {'before': null, 'after': '1'}",
    ],
)
def test_a_creation(expression: str) -> None:
    assert said(one(expression), creation(configs={"a": "1"})) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "requested == null && current.name == 'orders' && change.partitions == -2",
        "change.configs['a'] == {'before': '1', 'after': null}",
    ],
)
def test_a_deletion(expression: str) -> None:
    text = one(expression, requests=["DeleteTopic"])
    assert said(text, deletion(), state(TOPIC)) == ""


def test_a_deletion_of_records() -> None:
    request = req.DeleteRecordsRequest(
        topic="orders", topic_id="id", deleted_message_offsets={0: 5, 1: 7}
    )
    expression = (
        "requested.offsets == {0: 5, 1: 7} && requested.offsets[1] == 7 && change == null "
        "&& requested.offsets.all(p, p < current.partitions)"
    )
    assert said(one(expression, requests=["DeleteRecords"]), request, state(TOPIC)) == ""


@pytest.mark.parametrize(
    ("api", "side", "other"),
    [("CreateAcl", "requested", "current"), ("DeleteAcl", "current", "requested")],
)
def test_an_acl(api: str, side: str, other: str) -> None:
    made = {"CreateAcl": req.CreateAclRequest, "DeleteAcl": req.DeleteAclRequest}[api]
    labels = ", 'labels': {}" if side == "requested" else ""
    expression = (
        f"{side} == {{'principal': 'User:billing', 'host': '10.0.0.1', 'operation': 'Write', "
        "'permission': 'Deny', 'resourceType': 'transactionalId', 'resourceName': 'tx-', "
        "'patternType': 'prefixed', 'virtualCluster': 'kafka-cluster', "
        f"'virtualClusterPatternType': 'literal'{labels}}} && {other} == null && change == null"
    )
    assert said(one(expression, requests=[api]), made(binding=BINDING)) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "requested.entity == {'user': 'billing', 'clientId': '<default>', 'ip': null, "
        "'virtualCluster': null}",
        "requested.quotas == {'consumer_byte_rate': 5.0, 'producer_byte_rate': 2.5}",
        "requested.requestedQuotas == {'consumer_byte_rate': 5.0, 'request_percentage': null}",
        "current.quotas['producer_byte_rate'] == 2.5",
        "change.quotas['request_percentage'] == {'before': 50.0, 'after': null}",
        "change.quotas['consumer_byte_rate'] == {'before': null, 'after': 5.0}",
        "!('producer_byte_rate' in change.quotas)",
        "request.name == 'user=billing,client-id=<default>'",
    ],
)
def test_a_quota(expression: str) -> None:
    cluster = state()
    held = {"producer_byte_rate": 2.5, "request_percentage": 50.0}
    quotas = {ENTITY: ClientQuotaState(entity=ENTITY, quotas=held)}
    asked = {"consumer_byte_rate": 5, "request_percentage": None}
    request = req.AlterClientQuotaRequest(entity=ENTITY, quotas=asked)
    guarded = f"current != null && {expression}"
    text = one(guarded, requests=["AlterClientQuota"])
    cluster = type(cluster)(cluster_id="t", backend="embedded", quotas=quotas)
    assert said(text, request, cluster) == ""


def test_a_quota_that_is_new_has_no_current() -> None:
    entity = make_entity({IP: "10.0.0.1"})
    request = req.AlterClientQuotaRequest(entity=entity, quotas={"connection_creation_rate": 3.0})
    text = one(
        "current == null && requested.entity.ip == '10.0.0.1'", requests=["AlterClientQuota"]
    )
    assert said(text, request) == ""


def test_a_broker() -> None:
    request = req.AlterBrokerRequest(broker=2, configs={"a": "2", "b": None})
    expression = (
        "requested == {'id': 2, 'configs': {'a': '2', 'c': '3'}, "
        "'requestedConfigs': {'a': '2', 'b': null}, 'labels': {}} && current.configs['b'] == '1' "
        "&& change.configs.map(k, k) == ['a', 'b'] && request.address == 'broker/2'"
    )
    text = one(expression, requests=["AlterBroker"])
    judgement = judged(text, request, broker_configs={"a": "1", "b": "1", "c": "3"})
    assert judgement.message is None


LABELLED = "requested.labels == {'team': 'payments'} && requested.labels.team == 'payments'"


@pytest.mark.parametrize(
    "api", [api for api, shape in REQUEST_VARIABLES.items() if shape.requested]
)
def test_the_labels_of_what_is_requested(api: str) -> None:
    """Every object that is requested has them, and they are looked at when a policy is loaded."""
    assert findings(one(LABELLED, requests=[api])) == []
    (problem,) = findings(one("requested.labels > 3", requests=[api]))
    assert "requested.labels" in problem
    (problem,) = findings(one("current.labels.team == 'x'", requests=["AlterTopic"]))
    assert "current has no field labels" in problem


def test_labels_are_those_of_the_document() -> None:
    request = req.with_labels(creation("orders"), {"team": "payments"})
    assert said(one(LABELLED), request) == ""
    assert said(one(LABELLED), creation("orders")) != ""
    assert said(one("size(requested.labels) == 0"), creation("orders")) == ""
