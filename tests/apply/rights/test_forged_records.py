"""Each field of an ownership record that a plan writes is forged, and each forgery is refused."""

from collections.abc import Mapping

import pytest
from apply.forging import Forgery, forgeries
from builders import (
    ALL_CAPABILITIES,
    a_binding,
    a_consumer_group,
    a_desired,
    a_quota,
    a_topic,
    a_topic_state,
    a_user,
    an_acl,
    applied,
    plan_of,
    some_client_metrics,
)
from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace
from plan.worked_scenario import (
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_virtual_cluster,
    an_acl_in,
)

from kgitops.apply.rights.decision import check_rights
from kgitops.apply.rights.replan import check_replanned
from kgitops.model.cluster_state import TopicUsage
from kgitops.model.errors import SafetyError, StaleError, UntrustedPlanError
from kgitops.model.json.declared import ConfigsPolicy, OffsetReset
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.plan.document.plan import Change, Plan

_SESSION, _HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
_EXACT = ConfigsPolicy.EXACT
_NOT_REACHED = "has requests that do not follow from its declaration"
BEFORE = [
    a_topic("alter", partitions=2, configs={"retention.ms": "1000", "retention.bytes": "9"}),
    a_topic("exact", configs={"retention.ms": "1000"}),
    a_topic("move", assignment=((1, 2), (2, 3))),
    a_quota((("user", "alter"),), consumer_byte_rate=1024, request_percentage=5),
    a_user("renew", iterations=4096, version="1"),
    a_consumer_group("alter", configs={_SESSION: "50000", _HEARTBEAT: "6000"}),
    some_client_metrics("alter", interval_ms="1000", metrics="a"),
]
AFTER = [
    a_topic("alter", partitions=4, configs={"retention.ms": "2000", "retention.bytes": "9"}),
    a_topic("exact", configs={"retention.ms": "2000"}, configs_policy=_EXACT),
    a_topic("move", assignment=((2, 3), (3, 1))),
    a_quota((("user", "alter"),), consumer_byte_rate=2048, request_percentage=5),
    a_user("renew", iterations=4096, version="2"),
    a_consumer_group("alter", configs={_SESSION: "60000", _HEARTBEAT: "6000"}),
    some_client_metrics("alter", interval_ms="2000", metrics="a"),
    a_topic("found", partitions=1),
    a_topic("placed", assignment=((1, 2), (2, 3))),
    an_acl(),
    a_quota(),
    a_user(),
    a_consumer_group(reset=OffsetReset(version="1", offsets={"alter": {0: 3}})),
    some_client_metrics(),
    a_virtual_cluster("vc"),
    a_virtual_cluster("other"),
    a_local_topic("Made", at="vc", share_with=("another", "other")),
    a_link("Link", "alter", at="vc"),
    a_link("Chain", LocalName("vc", "Made"), at="other"),
    a_member("User:app", at="vc", copy="kafka-cluster"),
    a_member("a-client", at="vc", entity_type=EntityType.CLIENT_ID),
    a_member("tx", at="vc", entity_type=EntityType.TRANSACTIONAL_ID),
    a_group("etl", at="vc", adopt="old-etl"),
    an_acl_in("vc", "User:app", "Read", "Made"),
]
STATE = applied(
    *BEFORE,
    beside=[
        a_topic_state("found", partitions=1, configs={"segment.ms": "3600000"}),
        a_binding("User:app", "Read", "alter"),
    ],
    usage={"alter": TopicUsage(log_start_offsets=(0, 0), high_watermarks=(9, 9))},
)
DESIRED = a_desired(*AFTER)

SAID_BY_DOCUMENTS_ALONE = {
    "Topic": {"configsPolicy", "deletionPolicyWritten", "shareWith"},
    "TopicLink": {"deletionPolicyWritten"},
    "Acl": {"deletionPolicyWritten"},
    "ClientQuota": {"deletionPolicyWritten"},
    "User": {"deletionPolicyWritten"},
    "ConsumerGroup": {"deletionPolicy", "deletionPolicyWritten", "resetOffsets.version"},
    "ClientMetrics": {"deletionPolicyWritten"},
    "VirtualCluster": {"deletionPolicyWritten", "mode"},
    "VirtualClusterBinding": {"deletionPolicyWritten", "move"},
}
"""Kind to fields of which a plan can record another value that is legal: no request and no object
of the cluster shows them, so the plan with it is that of another document."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    made = plan_of(DESIRED, STATE)
    assert not made.verdict.stops, made.verdict.reasons
    check(made)
    return made


def check(plan: Plan) -> None:
    check_rights(plan, plan.changes, STATE, DESIRED.project)
    check_replanned(plan, STATE, DESIRED.project, ALL_CAPABILITIES)


def with_change(plan: Plan, change: Change) -> Plan:
    changes = tuple(change if it.address == change.address else it for it in plan.changes)
    return replace(plan, changes=changes)


def recording(plan: Plan, change: Change, last: Mapping[str, Json]) -> Plan:
    """The plan that would record this as last applied."""
    assert change.owner_after
    after = replace(change.owner_after, last_applied=last)
    return with_change(plan, replace(change, owner_after=after))


def change_of(plan: Plan, address: str) -> Change:
    (found,) = (it for it in plan.changes if it.address == address)
    return found


def test_a_forged_record_is_refused(plan: Plan) -> None:
    """Unless it is one of another document."""
    accepted: dict[str, set[str]] = {}
    for change in plan.changes:
        record = to_builtins(change.owner_after)
        for forgery in forgeries(record, {}):
            try:
                owner = convert(forgery.apply(record), Owner)
            except ValidationError:
                continue
            try:
                check(with_change(plan, replace(change, owner_after=owner)))
            except (SafetyError, StaleError, UntrustedPlanError):
                continue
            field = ".".join(part for part in forgery.path[1:] if isinstance(part, str))
            accepted.setdefault(change.kind, set()).add(field)
    assert accepted == SAID_BY_DOCUMENTS_ALONE


@pytest.mark.parametrize(
    ("address", "path", "value"),
    [
        ("topic/placed", ("replicationFactor",), 3),
        ("topic/placed", ("partitions",), 3),
        ("vc/vc/topic/Made", ("shareWith",), ["other", "another"]),
        ("vc/vc/topic/Made", ("shareWith",), ["other", "other"]),
        ("vc/vc/group/etl", ("move",), True),
        ("vc/vc/txn/tx", ("move",), True),
        ("vc/vc/client/a-client", ("copyOffsets",), False),
        ("vc/vc/user/User:app", ("removeOldAclsFrom",), "vc"),
        ("group/billing", ("resetOffsets", "topics"), ["alter"]),
    ],
)
def test_what_no_document_gives_is_refused(
    plan: Plan, address: str, path: tuple[str, ...], value: Json
) -> None:
    change = change_of(plan, address)
    assert change.owner_after
    last = Forgery(path, value).apply(change.owner_after.last_applied)
    with pytest.raises(UntrustedPlanError, match="would record something that is not"):
        check(recording(plan, change, last))


def test_only_an_acl_is_copied(plan: Plan) -> None:
    origin = {"member": "vc/vc/user/User:app", "copiedFrom": "kafka-cluster"}
    for change in plan.changes:
        if change.kind != "Acl":
            assert change.owner_after
            last = {**change.owner_after.last_applied, "origin": origin}
            derived = replace(change, derived_from=(origin["member"],))
            with pytest.raises(UntrustedPlanError):
                check(recording(plan, derived, last))


@pytest.mark.parametrize(
    ("address", "field", "key"),
    [
        ("topic/alter", "configs", "retention.bytes"),
        ("quota/user=alter", "quotas", "request_percentage"),
        ("group/alter", "configs", _HEARTBEAT),
        ("client-metrics/alter", "configs", "metrics"),
    ],
)
def test_a_value_that_was_applied_is_not_left_behind(
    plan: Plan, address: str, field: str, key: str
) -> None:
    """The record lacks a key that the cluster has, and no request removes it."""
    change = change_of(plan, address)
    assert change.owner_after
    last = change.owner_after.last_applied
    rest = {name: value for name, value in last[field].items() if name != key}
    with pytest.raises(UntrustedPlanError, match=_NOT_REACHED):
        check(recording(plan, change, {**last, field: rest}))


def test_a_topic_with_undeclared_configs_is_not_recorded_as_exact(plan: Plan) -> None:
    change = change_of(plan, "topic/found")
    assert change.owner_after
    last = {**change.owner_after.last_applied, "configsPolicy": "Exact"}
    with pytest.raises(UntrustedPlanError, match=_NOT_REACHED):
        check(recording(plan, change, last))


def test_each_partition_has_the_replicas_of_the_record(plan: Plan) -> None:
    change = change_of(plan, "topic/alter")
    (at, grown) = next(
        (at, it.request)
        for at, it in enumerate(change.requests)
        if isinstance(it.request, AlterTopicRequest) and it.request.step is AlterStep.PARTITIONS
    )
    wanted = grown.requested_state
    fewer = replace(wanted, assignment=(*wanted.assignment[:-1], wanted.assignment[-1][:1]))
    requests = list(change.requests)
    requests[at] = replace(requests[at], request=replace(grown, requested_state=fewer))
    with pytest.raises(UntrustedPlanError, match=_NOT_REACHED):
        check(with_change(plan, replace(change, requests=tuple(requests))))
