"""Another client changes the cluster between its reading and the brokers' check of the plan."""

from collections.abc import Callable

import pytest
from apply.plans import open_cluster
from builders import a_desired, a_topic, plan_of

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.errors import StaleError
from kgitops.model.verdict import ExitCode
from kgitops.workflow.stages import Planning, with_validation


def alter(cluster: Cluster, partitions: int) -> None:
    """Another client creates the topic, or adds partitions."""
    desired = a_desired(a_topic("orders", partitions=partitions))
    for planned in plan_of(desired, cluster.read_state()).requests:
        other(cluster, planned.request)


def delete(cluster: Cluster, _: int) -> None:
    topic_id = cluster.read_state().topics["orders"].topic_id or ""
    other(cluster, req.DeleteTopicRequest(topic="orders", topic_id=topic_id))


def other(cluster: Cluster, request: req.Request) -> None:
    (answer,) = cluster.execute([request], validate_only=False, principal="User:other")
    assert answer.ok, answer


@pytest.mark.parametrize(
    ("before", "wanted", "happens", "after", "api", "code"),
    [
        (0, 3, alter, 3, "CreateTopic", "TOPIC_ALREADY_EXISTS"),
        (0, 3, alter, 5, "CreateTopic", "TOPIC_ALREADY_EXISTS"),
        (3, 6, delete, 0, "AlterTopic", "UNKNOWN_TOPIC"),
        (3, 6, alter, 6, "AlterTopic", "INVALID_PARTITIONS"),
        (3, 6, alter, 9, "AlterTopic", "INVALID_PARTITIONS"),
    ],
)
def test_a_race_is_a_stale_plan(
    before: int,
    wanted: int,
    happens: Callable[[Cluster, int], None],
    after: int,
    api: str,
    code: str,
) -> None:
    """It was the finding "change the document" (exit 1), and the document was right."""
    cluster = open_cluster()
    if before:
        alter(cluster, before)
    desired = a_desired(a_topic("orders", partitions=wanted))
    current = cluster.read_state()
    plan = plan_of(desired, current)
    happens(cluster, after)
    with pytest.raises(StaleError) as stopped:
        with_validation(plan, Planning(cluster=cluster, desired=desired, current=current))
    sentence = str(stopped.value)
    assert sentence.startswith(
        f"topic/orders has changed on the cluster since it was read: the broker answered {api}"
    )
    assert code in sentence
    assert sentence.endswith("; plan again")
    assert stopped.value.exit is ExitCode.STALE
