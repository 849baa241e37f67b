"""The configs of the guide to managed Kafka can be pasted, and its policy for IAM is one."""

import json
import re
from pathlib import Path

import pytest
import yaml

from kgitops.cluster.kafka.configs.client_configs import normalize_configs

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "managed-kafka.md"
ACTIONS = {
    *("Connect", "DescribeCluster", "AlterCluster", "DescribeClusterDynamicConfiguration"),
    *("AlterClusterDynamicConfiguration", "WriteDataIdempotently", "CreateTopic", "DescribeTopic"),
    *("AlterTopic", "DeleteTopic", "DescribeTopicDynamicConfiguration", "ReadData", "WriteData"),
    *("AlterTopicDynamicConfiguration", "DescribeGroup", "AlterGroup", "DeleteGroup"),
    *("DescribeTransactionalId", "AlterTransactionalId"),
}
"""All that Amazon's table of actions has."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("yaml"))
def test_configs_can_be_pasted(block: str):
    configs = yaml.safe_load(block)["configs"]
    given = {name: re.sub(r"\$\{env:(\w+)\}", r"\1", value) for name, value in configs.items()}
    assert normalize_configs(given)


def test_the_policy_has_amazons_actions():
    (policy,) = map(json.loads, blocks("json"))
    actions = [action for one in policy["Statement"] for action in one["Action"]]
    assert {action.removeprefix("kafka-cluster:") for action in actions} == ACTIONS - {
        "DeleteGroup"
    }
