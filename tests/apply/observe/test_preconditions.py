"""Objects are found by their address, fields by the paths that the planner writes."""

import pytest
from apply.plans import AFTER, open_cluster, prepare
from builders import (
    ClusterObject,
    a_binding,
    a_cluster,
    a_quota_state,
    a_topic,
    a_topic_state,
    an_entity,
    an_owner,
    on_cluster,
    some_configs,
)
from hypothesis import given
from model.request_strategies import bindings, entities

from kgitops.apply.effects import check_preconditions
from kgitops.apply.objects import find_object
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl, DesiredObject, DesiredQuota, DesiredTopic
from kgitops.model.requests import request_address
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.plan.document.plan import Precondition


@given(bindings, bindings)
def test_a_binding_is_found_by_its_address_and_by_no_other(
    binding: AclBinding, other: AclBinding
) -> None:
    address = acl_address(binding)
    assert find_object(address, a_cluster(binding)) == binding
    assert find_object(address, a_cluster(other)) == (binding if other == binding else None)


@given(entities, entities)
def test_a_quota_is_found_by_its_address_and_by_no_other(
    entity: ClientQuotaEntity, other: ClientQuotaEntity
) -> None:
    state = ClientQuotaState(entity=entity, quotas={"producer_byte_rate": 1.0})
    address = quota_address(entity)
    assert find_object(address, a_cluster(state)) == state
    elsewhere = ClientQuotaState(entity=other, quotas={"producer_byte_rate": 1.0})
    assert (find_object(address, a_cluster(elsewhere)) is None) == (entity != other)


def test_an_entity_without_any_quota_left_does_not_exist() -> None:
    assert find_object("quota/user=billing", a_cluster(a_quota_state())) is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "orders",
        "vc/emea/broker/1",
        "acl/User:a/Allow/Read/topic/literal",
        "acl/User:a/Allow/Fly/topic/literal/orders@*",
        "acl/User:a/Allow/Read/topic/literal/orders/more@*",
        "quota/user",
        "quota/",
    ],
)
def test_what_is_no_address_is_not_decided(address: str) -> None:
    (mismatch,) = check_preconditions([Precondition(object=address, exists=False)], a_cluster())
    assert mismatch.object == address


ORDERS = a_topic_state(
    "orders", assignment=((1, 2), (2, 3)), configs={"retention.ms": "1000", "x.vendor": "A"}
)
STATE = a_cluster(
    ORDERS,
    a_quota_state(an_entity(user="billing"), producer_byte_rate=12.5),
    owners={"topic/orders": an_owner(a_topic("orders"), project="uid-1")},
)
TOPIC = Precondition(
    object="topic/orders", exists=True, topic_id=ORDERS.topic_id, owner="uid-1", fields={}
)


def _holds(state: ClusterState, **changes: object) -> bool:
    values = {
        "object": TOPIC.object,
        "exists": TOPIC.exists,
        "topic_id": TOPIC.topic_id,
        "owner": TOPIC.owner,
        "fields": TOPIC.fields,
        **changes,
    }
    return not check_preconditions([Precondition(**values)], state)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("partitions", "2"),
        ("replicationFactor", "2"),
        ("assignments", "[[1,2],[2,3]]"),
        ("assignments.0", "[1,2]"),
        ("assignments.1", "[2,3]"),
        ("assignments.2", None),
        ("configs.retention.ms", "1000"),
        ("configs.x.vendor", "A"),
        ("configs.cleanup.policy", None),
    ],
)
def test_a_topics_field_holds_for_its_own_text_only(path: str, text: str | None) -> None:
    assert _holds(STATE, fields={path: text})
    assert not _holds(STATE, fields={path: "another"})
    assert not _holds(STATE, fields={path: "1" if text is None else None})


def test_configs_are_compared_in_kafkas_normal_form() -> None:
    state = a_cluster(
        a_topic_state("orders", configs={"cleanup.policy": "delete, compact"}), owners={}
    )
    assert _holds(state, owner=None, fields={"configs.cleanup.policy": "compact,delete"})


@pytest.mark.parametrize("path", ["configs", "partition", "assignments.", "assignments.-1", "kind"])
def test_a_field_that_is_not_known_never_holds(path: str) -> None:
    assert not _holds(STATE, fields={path: None})
    assert not _holds(STATE, fields={path: "1"})


def test_a_quotas_field_is_its_shortest_decimals() -> None:
    values = {"object": "quota/user=billing", "topic_id": None, "owner": None}
    assert _holds(STATE, **values, fields={"quotas.producer_byte_rate": "12.5"})
    assert _holds(STATE, **values, fields={"quotas.consumer_byte_rate": None})
    assert not _holds(STATE, **values, fields={"quotas.producer_byte_rate": "12.50"})
    assert not _holds(STATE, **values, fields={"producer_byte_rate": "12.5"})


def test_an_acl_has_no_fields_that_could_hold() -> None:
    state = a_cluster(a_binding())
    values = {"object": acl_address(a_binding()), "topic_id": None, "owner": None}
    assert _holds(state, **values)
    assert not _holds(state, **values, fields={"host": "*"})


def test_existence_topic_id_and_owner_must_all_hold() -> None:
    assert _holds(STATE)
    assert not _holds(STATE, exists=False, topic_id=None)
    assert not _holds(STATE, topic_id="another")
    assert not _holds(STATE, topic_id=None)
    assert not _holds(STATE, owner=None)
    assert not _holds(STATE, owner="uid-2")


def test_a_topic_that_is_being_deleted_is_not_as_it_was() -> None:
    """A4-63: its deletion was accepted and is not finished."""
    state = a_cluster(
        a_topic_state("orders", marked_for_deletion=True),
        owners=dict(STATE.registry.owners),
    )
    assert not _holds(state)


def test_a_spent_tombstone_owns_nothing() -> None:
    owner = an_owner(a_topic("orders"), project="uid-1", spent=True)
    state = a_cluster(ORDERS, owners={"topic/orders": owner})
    assert _holds(state, owner=None)
    assert not _holds(state, owner="uid-1")


def test_every_precondition_that_the_planner_writes_can_be_decided() -> None:
    cluster = open_cluster()
    plan = prepare(cluster)
    state = cluster.read_state()
    preconditions = [expected for change in plan.changes for expected in change.preconditions]
    assert {expected.object.split("/")[0] for expected in preconditions} == {
        "topic",
        "acl",
        "quota",
    }
    assert check_preconditions(preconditions, state) == ()
    for planned in plan.requests:
        assert request_address(planned.request) == planned.expects.object


@pytest.mark.parametrize(
    "declared",
    [*AFTER.of(DesiredTopic), *AFTER.of(DesiredAcl), *AFTER.of(DesiredQuota)],
    ids=lambda declared: declared.address,
)
def test_what_is_declared_is_found_at_its_address_once_it_stands(declared: DesiredObject) -> None:
    thing = on_cluster(declared)
    assert find_object(declared.address, a_cluster(thing)) == thing


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("topic/%6F1", a_topic_state("o1")),
        ("user/%61pp", FoundUser(name="app", held={ScramMechanism.SHA_512: 4096})),
        ("group/%67", FoundGroup(name="g", known=True)),
        (
            "client-metrics/%6Cag",
            some_configs(ConfigResourceType.CLIENT_METRICS, "lag", {"interval.ms": "5000"}),
        ),
    ],
)
def test_an_address_that_is_spelled_another_way_finds_the_object(
    address: str, found: ClusterObject
) -> None:
    """What exists must never count as missing."""
    assert find_object(address, a_cluster(found)) == found
