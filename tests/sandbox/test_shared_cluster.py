"""What every test on the shared cluster relies on."""

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    CreateAclsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_wiping import wipe

from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

TOPIC_TOOL = "org.apache.kafka.tools.TopicCommand"
ACL_TOOL = "org.apache.kafka.tools.AclCommand"
CONFIG_TOOL = "kafka.admin.ConfigCommand"


def test_three_brokers(kafka: Sandbox, kafka_cluster: Cluster) -> None:
    assert kafka.running == (1, 2, 3)
