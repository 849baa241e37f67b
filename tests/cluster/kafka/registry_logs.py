"""Logs of the registry on a real cluster, and what others may have made of its topic."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from patience import eventually

from kgitops.cluster.kafka.configs.client_configs import librdkafka_configs, wire_options
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.sandbox import Sandbox

TESTS = Path(__file__).parents[2]
GOOD = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
"""The least that a registry's topic must have."""


def open_log(
    servers: str, configs: Mapping[str, str] | None = None, **options: float
) -> tuple[KafkaRegistryLog, Wire]:
    """A log on connections of its own."""
    wire = Wire(servers.split(","), wire_options(configs or {}))
    wire.connect()
    return KafkaRegistryLog(wire, librdkafka_configs(servers, configs or {}), **options), wire


class JustTheRegistry:
    """As much of a cluster as a lock needs."""

    def __init__(self, registry: KafkaRegistryLog) -> None:
        self.registry = registry


class Logs:
    """Opens logs on one cluster, each as another process would; closes them all."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._opened: list[tuple[KafkaRegistryLog, Wire]] = []

    def open(self, configs: Mapping[str, str] | None = None, **options: float) -> KafkaRegistryLog:
        self._opened.append(
            open_log(self.sandbox.servers, configs or self.sandbox.configs, **options)
        )
        return self._opened[-1][0]

    def wire(self) -> Wire:
        """Connections for whatever else a test asks of the cluster."""
        self.open()
        return self._opened[-1][1]

    def close(self) -> None:
        for log, wire in self._opened:
            log.close()
            wire.close()


@contextmanager
def logs_on(sandbox: Sandbox) -> Iterator[Logs]:
    logs = Logs(sandbox)
    try:
        yield logs
    finally:
        logs.close()


def make_topic(wire: Wire, *, partitions: int = 1, copies: int = 1, **configs: str) -> None:
    """``__kgitops`` as someone else would make it, once every broker knows it.

    ``_`` in a config's name stands for a dot.
    """
    topic = CreateTopicsRequest.CreatableTopic
    answer = wire.send(
        CreateTopicsRequest(
            topics=[
                topic(
                    name=REGISTRY_TOPIC,
                    num_partitions=partitions,
                    replication_factor=copies,
                    assignments=[],
                    configs=[
                        topic.CreatableTopicConfig(name=name.replace("_", "."), value=value)
                        for name, value in configs.items()
                    ],
                )
            ],
            timeout_ms=30_000,
            validate_only=False,
        )
    )
    assert answer.topics[0].error_code == 0, answer
    _await_configs(wire, {name.replace("_", "."): value for name, value in configs.items()})


def set_configs(wire: Wire, **configs: str) -> None:
    """Change configs of ``__kgitops``, and wait until every broker knows."""
    wanted = {name.replace("_", "."): value for name, value in configs.items()}
    change = IncrementalAlterConfigsRequest.AlterConfigsResource
    changes = [
        change.AlterableConfig(name=name, config_operation=0, value=value)
        for name, value in wanted.items()
    ]
    topic = change(resource_type=2, resource_name=REGISTRY_TOPIC, configs=changes)
    answer = wire.send(IncrementalAlterConfigsRequest(resources=[topic], validate_only=False))
    assert answer.responses[0].error_code == 0, answer
    _await_configs(wire, wanted)


def _await_configs(wire: Wire, wanted: Mapping[str, str]) -> None:
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2, resource_name=REGISTRY_TOPIC, configuration_keys=["segment.ms", *wanted]
    )

    def known() -> bool:
        answers = [
            wire.send(DescribeConfigsRequest(resources=[asked]), to=broker).results[0]
            for broker in wire.broker_ids()
        ]
        return all(
            found.error_code == 0
            and wanted.items() <= {row.name: row.value for row in found.configs}.items()
            for found in answers
        )

    eventually(known, what=f"{wanted} to be known")


class Driver:
    """A process that runs ``registry_driver.py``: it answers each command with a line."""

    def __init__(self, sandbox: Sandbox, *words: str) -> None:
        driver = Path(__file__).with_name("registry_driver.py")
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(driver), sandbox.servers, json.dumps(sandbox.configs), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def tell(self, command: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def heard(self, patience_s: float = 90) -> str:
        """The next line; a process that is silent for too long is killed."""
        timer = threading.Timer(patience_s, self.process.kill)
        timer.start()
        try:
            assert self.process.stdout
            return self.process.stdout.readline().rstrip("\n")
        finally:
            timer.cancel()

    def ask(self, command: str) -> str:
        self.tell(command)
        return self.heard()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()
