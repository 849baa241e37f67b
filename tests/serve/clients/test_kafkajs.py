"""KafkaJS, the client of Node.js."""

import os

import pytest
from serve.clients.downloads import KAFKAJS, kafkajs, program
from serve.clients.reports import check, run

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-kafkajs")]


def test_kafkajs(servers: str) -> None:
    node = program("node", "Node.js 18 or newer")
    environment = {**os.environ, "NODE_PATH": str(kafkajs()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    check("KafkaJS", run([node, KAFKAJS / "scenario.cjs", servers], env=environment))
