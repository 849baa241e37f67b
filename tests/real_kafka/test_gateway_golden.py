"""The worked scenario (§24) with clients that know local names only, through a gateway."""

from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cluster.kafka.committing import commit
from cluster_contract.contract import creation, done, send
from kafka_clusters import StartKafka
from real_kafka.gateway_members import Member, gateway
from real_kafka.golden_documents import COMMITS, STREAM
from real_kafka.test_golden_scenario import GLOBAL, Project

from kgitops.cluster.kafka.adapter import boot
from kgitops.model.requests import CreateAclRequest
from kgitops.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("test_gateway_golden")]

USERS = {"admin": "admin-secret", "sales-app": "sales-secret", "ana-reader": "ana-secret"}


@pytest.fixture(scope="module")
def secured(own_kafka: StartKafka) -> Sandbox:
    """Three brokers that let nobody do a thing without an ACL, and what there is before (§24.1)."""
    properties = {"allow.everyone.if.no.acl.found": "false"}
    sandbox = own_kafka(brokers=3, sasl=True, users=USERS, properties=properties)
    cluster = boot(sandbox.servers, sandbox.configs, Path())
    places = tuple(tuple((p + i) % 3 + 1 for i in range(3)) for p in range(12))
    done(cluster, creation(STREAM, places), lambda state: STREAM in state.topics)
    offsets = {(STREAM, partition): 0 for partition in range(12)}
    commit({"bootstrap.servers": sandbox.servers, **sandbox.configs}, "sales-etl", offsets)
    for binding in GLOBAL:
        assert send(cluster, CreateAclRequest(binding=binding)).ok
    cluster.close()
    return sandbox


def test_local_names_through_four_commits(
    secured: Sandbox,
    here: Path,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VC-029, 038, 111, 120, 347: §24 for clients that never hear of a physical name."""
    monkeypatch.setenv("GOLDEN_PASSWORD", secured.configs["sasl.password"])
    project = Project(secured, kgitops)
    project.apply(COMMITS[0])
    with gateway(here) as running:
        servers = running.servers
        sales, ana = (Member(servers, user, USERS[user]) for user in ("sales-app", "ana-reader"))
        assert sales.topics() == {"Orders", "SalesStream", STREAM}
        assert ana.topics() == {"Reports", "sales.orders"}
        assert sales.writes({"Orders": "o1", "SalesStream": "s1"}, "sales-tx") == []
        assert ana.writes({"Reports": "r1"}) == []
        assert ana.writes({"Orders": "no"}) == ["UNKNOWN_TOPIC_OR_PART"]
        assert sales.writes({"Reports": "no"}) == ["UNKNOWN_TOPIC_OR_PART"]
        isolated = {"isolation.level": "read_committed"}
        with (
            ana.reads("rpt-1", "sales.orders", **isolated) as reports,
            # The group that was there before goes on, by the prefixed name, where it had been.
            sales.reads("sales-etl", STREAM, **isolated) as etl,
        ):
            reports.awaits(("sales.orders", "o1"))
            etl.awaits((STREAM, "s1"))
            project.apply(COMMITS[1])
            assert sales.writes({"SalesStream": "s2", "Orders": "o2"}) == []
            reports.awaits(("sales.orders", "o2"))
            etl.awaits((STREAM, "s2"))
        new_protocol = {"group.protocol": "consumer"}
        with sales.reads("sales-etl", "SalesStream", **new_protocol) as etl:
            project.apply(COMMITS[2])
            sales.awaits({"Orders", "SalesStream"})
            assert sales.writes({"SalesStream": "s3"}) == []
            etl.awaits(("SalesStream", "s3"))
            assert sales.writes({STREAM: "no"}) == ["UNKNOWN_TOPIC_OR_PART"]
        project.apply(COMMITS[3])
        sales.awaits({"Orders", "SalesStream"})
        # In no virtual cluster, without a right: a listing of the brokers', and nothing in it.
        ana.awaits(set())
        assert sales.writes({"Orders": "o3"}, "sales-tx") == []
