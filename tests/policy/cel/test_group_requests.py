"""Requests about groups and client metrics, as policies in CEL and in Python see them."""

import pytest
from policy.cel.writing import one, said

from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.policy import (
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    ClusterState,
    ConfigResourceManagementPolicy,
    ConsumerGroupManagementPolicy,
    DeleteConsumerGroupRequest,
    PolicyViolation,
)
from kgitops.policy.testing import (
    alter_client_metrics,
    alter_consumer_group_offsets,
    alter_group_configs,
    delete_consumer_group,
    labelled,
    violation,
)

CONFIGS = req.AlterConfigResourceRequest(
    resource_type=ConfigResourceType.CLIENT_METRICS,
    resource_name="lag",
    configs={"interval.ms": "1000", "match": None},
)
OFFSETS = req.AlterConsumerGroupOffsetsRequest(
    group="billing",
    topics=(TopicOffsets(topic="orders", topic_id="A" * 22, offsets={1: 7, 0: 5}),),
)
DELETION = req.DeleteConsumerGroupRequest(group="billing")


@pytest.mark.parametrize(
    ("request_", "expression"),
    [
        (
            CONFIGS,
            "requested == {'resourceType': 'CLIENT_METRICS', 'resourceName': 'lag', "
            "'requestedConfigs': {'interval.ms': '1000', 'match': null}, 'labels': {}} "
            "&& current == null && request.name == 'lag' "
            "&& request.address == 'client-metrics/lag'",
        ),
        (
            OFFSETS,
            "requested.group == 'billing' && requested.offsets == ["
            "{'topic': 'orders', 'partition': 0, 'offset': 5}, "
            "{'topic': 'orders', 'partition': 1, 'offset': 7}] "
            "&& current == null && request.address == 'group/billing'",
        ),
        (DELETION, "requested == null && current.group == 'billing' && request.name == 'billing'"),
    ],
    ids=["configs", "offsets", "deletion"],
)
def test_expressions_see_all_of_it(request_: req.Request, expression: str) -> None:
    text = one(expression, requests=[req.api_name(request_)])
    assert said(text, request_) == ""
    denying = one(f"!({expression})", requests=[req.api_name(request_)])
    assert said(denying, request_) != ""


class Guarded(ConfigResourceManagementPolicy, ConsumerGroupManagementPolicy):
    """Groups of payments are left alone, and clients push at most each minute."""

    def validate_alter_config_resource(
        self, request: AlterConfigResourceRequest, cluster_state: ClusterState
    ) -> None:
        if int(request.configs.get("interval.ms") or 60_000) < 60_000:
            raise PolicyViolation("too often", field="configs.interval.ms")

    def validate_alter_consumer_group_offsets(
        self, request: AlterConsumerGroupOffsetsRequest, cluster_state: ClusterState
    ) -> None:
        if any(offset == 0 for item in request.topics for offset in item.offsets.values()):
            raise PolicyViolation("not from the beginning")

    def validate_delete_consumer_group(
        self, request: DeleteConsumerGroupRequest, cluster_state: ClusterState
    ) -> None:
        if request.labels.get("team") == "payments":
            raise PolicyViolation(f"{request.group} stays")


def test_a_policy_in_python_judges_them() -> None:
    refused = violation(Guarded(), alter_client_metrics("lag", {"interval.ms": "1000"}))
    assert refused is not None
    assert refused.field == "configs.interval.ms"
    assert violation(Guarded(), alter_group_configs("g", {"interval.ms": None})) is None
    assert violation(Guarded(), alter_consumer_group_offsets("g", {"orders": {0: 0}}))
    assert violation(Guarded(), alter_consumer_group_offsets("g", {"orders": {0: 1}})) is None
    deletion = delete_consumer_group("g")
    assert violation(Guarded(), deletion) is None
    assert violation(Guarded(), labelled(deletion, {"team": "payments"}))


@pytest.mark.parametrize(("name", "broker_id"), [("<default>", -1), ("2", 2)])
def test_configs_of_brokers_are_judged_as_brokers_ask(name: str, broker_id: int) -> None:
    """P201-87: one policy for both, whoever asks."""
    asked = req.AlterConfigResourceRequest(
        resource_type=ConfigResourceType.BROKER,
        resource_name=name,
        configs={"log.retention.ms": "1000"},
    )
    expression = (
        f"requested.id == {broker_id} && requested.configs['log.retention.ms'] == '1000' "
        f"&& request.name == '{name}' && request.address == 'broker-config/{name}'"
    )
    assert said(one(expression, requests=["AlterBroker"]), asked) == ""
    assert said(one(f"!({expression})", requests=["AlterBroker"]), asked) != ""
