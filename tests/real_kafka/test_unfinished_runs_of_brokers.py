"""An apply on real brokers ends in between: plans name the command, which finishes it."""

import json
import shlex
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops, paused
from cli.processes import PausedApply
from cli.projects import topic
from kafka_java_tools import topics

from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka
__all__ = ["paused"]


def test_the_command_of_the_plan_finishes_the_run(
    project: "KafkaProject",
    kafka: Sandbox,
    kgitops: Kgitops,
    paused: Callable[..., PausedApply],
) -> None:
    project.write(topic("one", replicationFactor=1), topic("two", replicationFactor=1))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(
        topic("one", replicationFactor=1, configs={"retention.ms": 1}),
        topic("two", replicationFactor=1, configs={"retention.ms": 2}),
        topic("three", replicationFactor=1),
    )
    apply = paused("apply", project.folder, "--parallelism", "1", "--auto-approve")
    apply.interrupt(signal.SIGTERM)
    assert apply.open()[0] == 143
    for command in ("plan", "drift"):
        told = json.loads(kgitops(command, project.folder, "--format", "json").out)
        assert told["unfinished_run"]["resume"] == "kgitops apply --resume -c kafka payments"
    assert told["unfinished_run"]["locked_by"] is None
    resumed = kgitops(*shlex.split(told["unfinished_run"]["resume"])[1:])
    assert resumed.code == 0, resumed.said
    assert set(topics(kafka)) == {"one", "two", "three"}
    planned = json.loads(kgitops("plan", project.folder, "--format", "json").out)
    assert (planned["changes"], "unfinished_run" in planned) == ([], False)
    nothing = kgitops("apply", "--resume", "-c", "kafka", project.folder)
    assert f"on kafka (kafka://{kafka.servers}, cluster id " in nothing.err
