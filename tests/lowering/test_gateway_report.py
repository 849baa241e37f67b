"""The lowering report of a cluster whose clients come through a gateway."""

from collections.abc import Iterable

import pytest
from lowering import scenario
from lowering.scenario import READ, T, acl
from lowering.test_lowering_report import BOUND, EMPTY, FEATURES, SAFE, state, v
from msgspec.structs import replace

from kgitops.lowering.report import BEHIND_GATEWAY, failing_lines, lowering_report
from kgitops.lowering.report_lines import _CODES
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import DeclaredGateway, Grade, LoweringLine
from kgitops.model.resources.acls import PermissionType
from kgitops.model.resources.quotas import ClientQuotaState, make_entity

GATEWAY = DeclaredGateway(bootstrap_servers="kafka.example.com:9092")
TRANSLATED = {"L-TRANSPARENCY", "L-GROUP", "L-TXN", "L-LIST"}
RATE = "connection_creation_rate"


def of(lines: Iterable[LoweringLine], code: str) -> list[LoweringLine]:
    return [line for line in lines if line.code == code]


@pytest.mark.parametrize("found", [row[1] for row in FEATURES], ids=[row[0] for row in FEATURES])
def test_a_gateway_makes_names_exact_and_nothing_else(found: ClusterState) -> None:
    """Every line of a cluster without one is there, of the same object, and as bad as it was
    unless a name is all that it is about."""
    plain, behind = lowering_report(found), lowering_report(found, GATEWAY)
    known = {(line.code, line.virtual_cluster, line.subject): line for line in behind}
    for line in plain:
        there = known.pop((line.code, line.virtual_cluster, line.subject))
        if line.code in TRANSLATED:
            assert there.grade is Grade.EXACT
        elif line.code != "L-GOAL":
            assert there.grade is line.grade
        if line.code not in BEHIND_GATEWAY and line.code != "L-GOAL":
            assert there == line
    assert {code for code, _, _ in known} == {"L-GATEWAY"}


def test_no_client_has_to_be_configured_behind_a_gateway() -> None:
    """``--fail-on CLIENT`` is met by what is left, and never by a name."""
    brokers = scenario.after_commit_1()
    found = replace(brokers.logical, settings=SAFE)
    assert of(lowering_report(found), "L-TXN")
    behind = lowering_report(found, GATEWAY)
    assert not [line for line in behind if line.grade is Grade.CLIENT]
    assert TRANSLATED.isdisjoint(line.code for line in failing_lines(behind, Grade.SNAPSHOT))
    goals = {line.subject: line for line in of(behind, "L-GOAL")}
    assert goals["transparency to clients"].grade is Grade.EXACT
    assert "show physical names" not in goals["isolation"].reason


def test_a_goal_that_fails_on_brokers_fails_behind_a_gateway() -> None:
    """It names things, and keeps nobody out."""
    found = state(BOUND, settings={"allow.everyone.if.no.acl.found": "true"})
    (isolation,) = (line for line in lowering_report(found, GATEWAY) if line.subject == "isolation")
    assert isolation.grade is Grade.NONE


def test_hosts_of_acls_and_quotas_of_addresses_are_named() -> None:
    """Brokers see the gateway's address: an Allow lets nobody in, a Deny keeps nobody out."""
    allow = acl("kafka-cluster", "User:x", READ, T, "t", host="10.0.0.1")
    deny = replace(allow, permission_type=PermissionType.DENY)
    scoped = replace(v(READ, T, "n"), host="10.0.0.2")
    anywhere = acl("kafka-cluster", "User:x", READ, T, "t")
    per_ip, default = make_entity({"ip": "10.0.0.1"}), make_entity({"ip": None})
    user = make_entity({"user": "u"})
    found = replace(
        state(EMPTY, allow, deny, scoped, anywhere),
        quotas={
            entity: ClientQuotaState(entity=entity, quotas=values)
            for entity, values in (
                (per_ip, {RATE: 5.0}),
                (default, {RATE: 9.0}),
                (user, {"producer_byte_rate": 1.0}),
            )
        },
    )
    lines = lowering_report(found, GATEWAY)
    hosts = {line.subject: line for line in of(lines, "L-GATEWAY-HOST")}
    assert {(line.virtual_cluster, subject) for subject, line in hosts.items()} == {
        ("", "acl/User:x/Allow/Read/topic/literal/t@10.0.0.1"),
        ("", "acl/User:x/Deny/Read/topic/literal/t@10.0.0.1"),
        ("v", "vc/v/acl/User:u/Allow/Read/topic/literal/n@10.0.0.2"),
    }
    assert all(line.grade is Grade.NONE for line in hosts.values())
    kept_out = hosts["acl/User:x/Deny/Read/topic/literal/t@10.0.0.1"].reason
    assert "comes in through the gateway" in kept_out
    assert {line.subject for line in of(lines, "L-GATEWAY-IP")} == {
        "quota/ip=10.0.0.1",
        "quota/ip=<default>",
    }
    assert not [line for line in lowering_report(found) if line.code.startswith("L-GATEWAY")]


def test_a_cluster_without_virtual_clusters_tells_what_its_gateway_hides() -> None:
    """Its clients come through it all the same."""
    none = ClusterState(cluster_id="c", backend="kafka")
    (line,) = lowering_report(none, GATEWAY)
    assert (line.code, line.grade, line.subject) == (
        "L-GATEWAY",
        None,
        "kafka.example.com:9092",
    )


def test_what_reads_differently_is_a_line_of_the_report() -> None:
    assert set(BEHIND_GATEWAY) < set(_CODES)
