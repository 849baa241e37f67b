"""Missing rights to change a real cluster: the answers, and the findings of a plan."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_desired, a_quota, a_topic, plan_of
from cluster.kafka.read.test_read_rights import READ_ONLY, alice, right
from cluster_contract.contract import await_state, creation, done, send
from java_classes import compile_java

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.plan.document.plan import Plan
from kgitops.report.text.plan import render_text
from kgitops.sandbox.sandbox import Sandbox
from kgitops.workflow.stages import Planning, with_validation

ONE = ((1,), (1,))


POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class OrderlyNames implements CreateTopicPolicy {
    public void configure(Map<String, ?> configs) {}
    public void close() {}
    public void validate(RequestMetadata request) {
        if (request.topic().startsWith("disorderly"))
            throw new PolicyViolationException(
                request.topic() + " is disorderly, on " + request.replicasAssignments());
    }
}
"""


@pytest.fixture(scope="module")
def sandbox(own_kafka, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """One broker that lets nobody do anything without an ACL, and has a policy of its own."""
    classes = compile_java({"OrderlyNames": POLICY}, tmp_path_factory.mktemp("policy"))
    policy = {"create.topic.policy.class.name": "OrderlyNames"}
    return own_kafka(sasl=True, class_path=[classes], properties=policy)


@pytest.fixture(scope="module")
def admin(sandbox: Sandbox) -> Iterator[Cluster]:
    """The administrator, and a topic."""
    cluster = connect(f"kafka://{sandbox.servers}", configs=sandbox.configs, base=Path())
    done(cluster, creation("orders", ONE), lambda state: "orders" in state.topics)
    yield cluster
    cluster.close()


def planned(cluster: Cluster) -> Plan:
    desired = a_desired(
        a_topic("new", assignment=ONE),
        a_topic("orders", partitions=3, replication_factor=1),
        a_quota(),
    )
    return validated(cluster, desired)


def validated(cluster: Cluster, desired: DesiredState) -> Plan:
    current = cluster.read_state()
    plan = plan_of(desired, current)
    assert not plan.findings
    return with_validation(plan, Planning(cluster=cluster, desired=desired, current=current))


def labels(plan: Plan) -> dict[str, Validator]:
    return {req.api_name(item.request): item.validated for item in plan.requests}


def test_a_read_only_principal_plans_and_is_told_what_nobody_checked(
    sandbox: Sandbox, admin: Cluster
) -> None:
    """Said once for each right that is missing; neither refused nor passed."""
    with alice(sandbox, admin, *READ_ONLY) as cluster:
        plan = planned(cluster)
    assert set(labels(plan).values()) == {Validator.CLIENT}
    assert not plan.findings
    text = render_text(plan, width=160)
    for sentence in (
        "the brokers did not validate 1 CreateTopic request: they answered "
        "TOPIC_AUTHORIZATION_FAILED (29); they check it for a principal with Create on the cluster "
        "or on the topic",
        "did not validate 1 AlterTopic request: they answered TOPIC_AUTHORIZATION_FAILED (29); "
        "they check it for a principal with Alter on the topic",
        "did not validate 1 AlterClientQuota request: they answered CLUSTER_AUTHORIZATION_FAILED "
        "(31); they check it for a principal with AlterConfigs on the cluster",
    ):
        assert sentence in " ".join(text.split())


def test_what_a_right_allows_to_be_checked_is_checked(sandbox: Sandbox, admin: Cluster) -> None:
    create = right(ResourceType.TOPIC, "new", Operation.CREATE)
    with alice(sandbox, admin, *READ_ONLY, create) as cluster:
        await_state(cluster, lambda _: send(cluster, creation("new", ONE), validate_only=True).ok)
        assert labels(planned(cluster)) == {
            "CreateTopic": Validator.BROKER,
            "AlterTopic": Validator.CLIENT,
            "AlterClientQuota": Validator.CLIENT,
        }


def test_a_refusal_of_the_brokers_stands_at_its_document_in_their_words(admin: Cluster) -> None:
    """P108-21: what only brokers know, their policy and whether they have tiered storage."""
    tiered = a_topic("tiered", assignment=ONE, configs={"remote.storage.enable": "true"})
    topics = tiered, a_topic("plain", assignment=ONE), a_topic("disorderly", assignment=ONE)
    checked = validated(admin, a_desired(*topics))
    (storage,) = map(str, checked.findings)
    (policy,) = [row for change in checked.changes for row in change.policies]
    assert (policy.policy, str(policy.source)) == ("broker", "disorderly.yaml:1:1")
    assert policy.stops
    assert policy.message == "disorderly is disorderly, on {0=[1], 1=[1]}"
    assert storage.startswith("tiered.yaml:1:1: ")
    assert "INVALID_CONFIG (40): Tiered Storage functionality is disabled in the broker" in storage
    creations = [
        item for item in checked.requests if isinstance(item.request, req.CreateTopicRequest)
    ]
    assert {item.validated for item in creations} == {Validator.BROKER}
    assert admin.read_state().topics.keys() == {"orders"}
