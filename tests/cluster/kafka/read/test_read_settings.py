"""Settings in a broker's own files reach the planner: defaults in other units, racks, no ACLs."""

from pathlib import Path

from cluster_contract.contract import binding, creation, done, send
from kafka_java_tools import CONFIGS

from kgitops.cluster.connect import connect
from kgitops.model.cluster_state import Broker
from kgitops.model.requests import CreateAclRequest
from kgitops.model.results import ErrorCode

STATIC = {
    "authorizer.class.name": "",
    "broker.rack": "a",
    "log.retention.hours": "24",
    "log.roll.hours": "2",
    "log.flush.scheduler.interval.ms": "5000",
    "log.cleanup.policy": "delete",  # Kafka's own value, written out
    "compression.type": "zstd",
}
DEFAULTS = {
    "retention.ms": "86400000",
    "segment.ms": "7200000",
    "flush.ms": "5000",
    "compression.type": "zstd",
}


def test_a_broker_without_an_authorizer_that_was_set_up_by_hand(own_kafka):
    """A4-95, P201-18, VC-391; kafka-configs shows the same of a topic that sets nothing itself."""
    sandbox = own_kafka(properties=STATIC)
    cluster = connect(f"kafka://{sandbox.servers}", configs=sandbox.configs, base=Path())
    before = cluster.read_state()
    request = creation("orders", ((1,),), {"cleanup.policy": "compact"})
    state = done(cluster, request, lambda state: "orders" in state.topics)
    assert before.broker_defaults == state.broker_defaults
    shown = sandbox.tool(
        CONFIGS, "--describe", "--all", "--entity-type", "topics", "--entity-name", "orders"
    )
    rows = dict(row.split()[0].split("=", 1) for row in shown.splitlines() if "=" in row)
    assert {key: rows[key] for key in DEFAULTS} == DEFAULTS
    assert {**state.broker_defaults, **DEFAULTS} == state.broker_defaults
    assert "cleanup.policy" not in state.broker_defaults
    assert {key: rows[key] for key in state.broker_defaults} == state.broker_defaults
    assert state.topics["orders"].configs == {"cleanup.policy": "compact"}
    assert state.brokers == (Broker(id=1, rack="a"),)
    assert (state.has_authorizer, state.acls) == (False, frozenset())
    assert state.settings["authorizer.class.name"] == ""
    assert "allow.everyone.if.no.acl.found" not in state.settings
    answer = send(cluster, CreateAclRequest(binding=binding()))
    assert answer.code is ErrorCode.SECURITY_DISABLED
    cluster.close()
