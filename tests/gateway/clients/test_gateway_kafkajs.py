"""KafkaJS, the client of Node.js, in a virtual cluster, by local names."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.matrix import check
from gateway.clients.member import member
from gateway.clients.tenants import Tenant
from serve.clients.downloads import kafkajs, program
from serve.clients.reports import run

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

CLIENT = "kafkajs"
SCENARIO = Path(__file__).parent / "kafkajs" / "scenario.cjs"


def test_kafkajs(entrance: Entrance, tenants: Mapping[str, Tenant]) -> None:
    node = program("node", "Node.js 18 or newer")
    environment = {**os.environ, "NODE_PATH": str(kafkajs()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    told = member(entrance, tenants, CLIENT).told()
    check("KafkaJS", run([node, SCENARIO, told], env=environment), entrance)
