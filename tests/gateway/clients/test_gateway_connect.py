"""A distributed worker of Kafka Connect in ``emea.sales``, told by REST to move lines of files."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.tenants import CONNECT, SALES
from patience import eventually
from platformdirs import user_cache_path
from ports import first_port
from serve.clients.tool_calls import TRANSACTIONS

from kgitops.sandbox.files import write_properties
from kgitops.sandbox.jars import KAFKA, Jar, fetch_jars
from kgitops.sandbox.jvm import LOG4J2
from kgitops.sandbox.sandbox import Sandbox, prepare_jvm

pytestmark = [
    pytest.mark.kafka("gateway-clients"),
    pytest.mark.xdist_group("gateway-clients"),
    pytest.mark.slow,
]

FILES = Jar(
    group="org.apache.kafka",
    name="connect-file",
    version=KAFKA,
    sha256="07de275f018451aeda20882e282bdfc207be65ba01568e28e291530f052701ee",
)
CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


class Worker:
    """The REST interface of one."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 (JSON)
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        with closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise OSError(text)
        return json.loads(text) if text else None

    def states(self, connector: str) -> set[str]:
        """Of the connector and its tasks; nothing while it is being set up."""
        with suppress(OSError):
            told = self.ask("GET", f"/connectors/{connector}/status")
            return {told["connector"]["state"], *(task["state"] for task in told["tasks"])}
        return set()


@pytest.fixture
def worker(entrance: Entrance, tmp_path: Path) -> Iterator[Worker]:
    """One that has joined its group and has read its topics."""
    home = user_cache_path("kgitops") / f"connect-file-{KAFKA}"
    jar = fetch_jars([FILES], home, f"Connect's file connectors {KAFKA}", lambda _: None)
    jvm = prepare_jvm(tmp_path / "jvm", [jar / FILES.file], lambda _: None)
    jvm.log4j2.write_text(LOG4J2)
    port = first_port()
    file = tmp_path / "worker.properties"
    write_properties(file, _properties(entrance, port))
    log = tmp_path / "worker.log"
    words = jvm.command("org.apache.kafka.connect.cli.ConnectDistributed", str(file), heap_mb=384)
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, cwd=tmp_path)
    found = Worker(port)

    def answer() -> object:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            return found.ask("GET", "/connectors")
        except OSError as error:
            return error, log.read_text()[-3000:]

    try:
        eventually(answer, lambda connectors: connectors == [], what="the worker answers")
        yield found
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def _properties(entrance: Entrance, port: int) -> Mapping[str, str]:
    login = entrance.login("sales-connect")
    configs = entrance.configs_of("sales-connect")
    kinds = ("producer", "consumer", "admin")
    return {
        **configs,
        **{f"{kind}.{name}": value for kind in kinds for name, value in configs.items()},
        "group.id": login.group(CONNECT),
        "config.storage.topic": login.topic("connect-configs"),
        "offset.storage.topic": login.topic("connect-offsets"),
        "status.storage.topic": login.topic("connect-status"),
        "key.converter": CONVERTER,
        "value.converter": CONVERTER,
        "listeners": f"http://127.0.0.1:{port}",
        "offset.flush.interval.ms": "500",
        "exactly.once.source.support": "enabled",
        "plugin.discovery": "service_load",
        "connector.client.config.override.policy": "All",
    }


def transactional_ids(kafka: Sandbox) -> set[str]:
    """All that brokers know."""
    told = kafka.tool(TRANSACTIONS, "list")
    return {line.split()[0] for line in told.splitlines()[1:]}


def test_lines_go_from_file_to_file(
    worker: Worker, entrance: Entrance, secured: Sandbox, tmp_path: Path
) -> None:
    """Its three internal topics are links, and a task that starts again goes on where it was."""
    login = entrance.login("sales-connect")
    topic = login.topic("file-lines")
    own_group = login.group("connect-file-sink")
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    lines = [f"line {number}" for number in range(20)]
    source.write_text("".join(f"{line}\n" for line in lines))
    connectors = {
        "file-source": {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": str(source),
            "topic": topic,
            "transaction.boundary": "poll",
        },
        "file-sink": {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": str(sink),
            "topics": topic,
            "consumer.override.group.id": own_group,
        },
    }

    def await_lines(expected: Sequence[str]) -> None:
        eventually(
            lambda: sink.read_text().splitlines() if sink.is_file() else None,
            lambda found: found == expected,
            what="the sink has all lines",
        )

    for name, configs in connectors.items():
        worker.ask("POST", "/connectors", {"name": name, "config": {"tasks.max": "1", **configs}})
    for name in connectors:
        eventually(
            partial(worker.states, name),
            lambda states: states == {"RUNNING"},
            what=f"{name} and its tasks run",
        )
    await_lines(lines)

    def offset() -> int:
        rows = worker.ask("GET", "/connectors/file-source/offsets")["offsets"]
        return rows[0]["offset"]["position"] if rows else 0

    eventually(offset, lambda at: at == source.stat().st_size, what="all is committed")
    worker.ask("POST", "/connectors/file-source/restart?includeTasks=true")
    more = [f"more {number}" for number in range(5)]
    with source.open("a") as file:
        file.writelines(f"{line}\n" for line in more)
    await_lines([*lines, *more])
    assert transactional_ids(secured) >= {f"{SALES}:{CONNECT}-file-source-0"}
    worker.ask("PUT", "/connectors/file-sink/stop")
    rows = worker.ask("GET", "/connectors/file-sink/offsets")["offsets"]
    assert [row["partition"]["kafka_topic"] for row in rows] == [topic]
    for name in connectors:
        worker.ask("DELETE", f"/connectors/{name}")
    eventually(
        partial(worker.ask, "GET", "/connectors"),
        lambda left: left == [],
        what="the connectors are deleted",
    )
