"""The brokers of one sandbox, running or stopped: one JVM each, also a controller (KRaft)."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.files import META, broker_properties, format_data, write_properties
from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jvm import BROKER, LOG4J2, Jvm, first_lines, last_lines
from kgitops.sandbox.layout import Layout
from kgitops.sandbox.process import STOP_TIMEOUT_S, BrokerProcess, await_ready

_HEAP_MB = {1: 1024, 3: 512}
_PORT_TAKEN = "Address already in use"
_NO_LEADER = "unable to register with the controller quorum"
_CLUSTER_ID = re.compile(r"(?m)^cluster\.id=(\S+)$")


class Sandbox:
    """Brokers whose files are in ``home``; :func:`kgitops.sandbox.sandbox.start` creates one."""

    def __init__(
        self,
        home: Path,
        layout: Layout,
        jvm: Jvm,
        guard: Guard | None = None,
        on_stage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.home = home
        self._on_stage = on_stage
        self.layout = layout
        self.jvm = jvm
        self._guard = guard
        self._brokers = {id_: BrokerProcess(id_, home / f"broker-{id_}") for id_ in layout.ports}
        self._admin_properties = home / "admin.properties"

    @property
    def servers(self) -> str:
        """``127.0.0.1:PORT,…`` of the default listener."""
        return self.layout.servers(self.layout.listener)

    @property
    def configs(self) -> Mapping[str, str]:
        """The configs of the administrator's client, under librdkafka's names."""
        return self.layout.client_configs()

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of all brokers, running or not."""
        return tuple(self._brokers)

    @property
    def running(self) -> tuple[int, ...]:
        """The ids of the brokers whose JVM runs."""
        return tuple(id_ for id_, broker in self._brokers.items() if broker.is_running)

    @property
    def listening(self) -> tuple[int, ...]:
        """The ids of the brokers whose own JVM accepts connections on their default listener."""
        ports, name = self.layout.ports, self.layout.listener
        brokers = self._brokers.items()
        return tuple(id_ for id_, broker in brokers if broker.listens_on(ports[id_][name]))

    @property
    def cluster_id(self) -> str | None:
        """The id in the brokers' data; None if that can't be read."""
        file = next(iter(self._brokers.values())).folder / "data" / META
        try:
            found = _CLUSTER_ID.search(file.read_text())
        except OSError:
            return None
        return found[1] if found else None

    @property
    def start_options(self) -> str:
        """The options of ``kgitops sandbox start`` that it was started with."""
        return f"--brokers {len(self._brokers)}{' --sasl' if self.layout.users else ''}"

    def log(self, broker_id: int) -> Path:
        """The file with a broker's warnings and errors."""
        return self._brokers[broker_id].log

    def kill(self, broker_id: int) -> None:
        """Send a broker SIGKILL, which has the effect of a power cut."""
        self._brokers[broker_id].kill()

    def stop_broker(self, broker_id: int) -> None:
        """Stop one cleanly, which takes a second or two: it hands over its leaderships first."""
        self._brokers[broker_id].terminate()
        self._brokers[broker_id].await_stop()

    def start_broker(self, broker_id: int) -> None:
        """Start a stopped or killed broker on the same port with the same data; wait for it.

        Raises:
            KgitopsError: it died again.
            UnreachableError: it does not answer.
        """
        broker_ids = {*self.running, broker_id}
        self._start(broker_id)
        self._await_ready(broker_ids)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Stop all cleanly; kill those still running after ``timeout_s`` seconds: False then."""
        for broker in self._brokers.values():
            broker.terminate()
        in_time = [broker.await_stop(timeout_s) for broker in self._brokers.values()]
        self._close()
        return all(in_time)

    def kill_all(self) -> None:
        """Send all SIGKILL, for when the data is no longer needed."""
        for broker in self._brokers.values():
            broker.kill()
        self._close()

    def tool(self, main: str, *arguments: str, timeout_s: float = 60) -> str:
        """Run one of Kafka's Java tools against the sandbox as the administrator: its output.

        ``tool("org.apache.kafka.tools.TopicCommand", "--list")``

        Raises:
            KgitopsError: the tool failed.
        """
        completed = self.jvm.run(
            main, *self.tool_options(self.servers), *arguments, timeout_s=timeout_s
        )
        if completed.returncode:
            output = completed.stdout + completed.stderr
            raise KgitopsError(f"{main} failed: {first_lines(output)}")
        return completed.stdout

    def tool_options(self, servers: str) -> list[str]:
        """The options by which a tool of Kafka's connects to ``servers`` as the administrator."""
        options = ["--bootstrap-server", servers]
        if self._admin_properties.exists():
            options += ["--command-config", str(self._admin_properties)]
        return options

    def boot(self) -> None:
        """Format the data, start all brokers and wait until they answer.

        Raises:
            KgitopsError: a broker died; the sentence has the end of its log.
            UnreachableError: they don't answer.
        """
        self._write_settings()
        folders = {id_: broker.folder for id_, broker in self._brokers.items()}
        format_data(self.jvm, folders, self.layout.users)
        self._start_all()

    def resume(self) -> None:
        """Start the brokers that don't run, with their existing data, and wait for all.

        Raises:
            KgitopsError: a broker died; the sentence has the end of its log.
            UnreachableError: they don't answer.
        """
        self._write_settings()
        self._start_all()

    def let_go(self) -> None:
        """Let the brokers outlive this process."""
        if self._guard:
            self._guard.release()
            self._guard = None

    def await_ready(self) -> None:
        """Wait until every running broker answers and sees the others.

        Raises:
            KgitopsError: a broker died.
            UnreachableError: they don't answer.
        """
        self._await_ready(self.running)

    def _await_ready(self, broker_ids: Collection[int]) -> None:
        listener = self.layout.listener
        servers = {id_: self.layout.server(id_, listener) for id_ in broker_ids}
        await_ready(
            servers,
            self.configs,
            check=lambda: self._check_running(broker_ids),
            on_stage=self._on_stage,
        )

    @property
    def lost_a_port(self) -> bool:
        """True if a broker logged that another process listens on its port."""
        return self._any_logged(_PORT_TAKEN)

    @property
    def elected_no_leader(self) -> bool:
        """True if a broker logged that it gave up waiting for a leader of the controllers."""
        return self._any_logged(_NO_LEADER)

    def _any_logged(self, text: str) -> bool:
        return any(text in self._log_text(broker) for broker in self._brokers.values())

    def _start_all(self) -> None:
        for broker_id in set(self._brokers) - set(self.running):
            self._start(broker_id)
        self._await_ready(self.broker_ids)

    def _write_settings(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.jvm.log4j2.write_text(LOG4J2)
        java_configs = self.layout.java_client_configs()
        if java_configs:
            write_properties(self._admin_properties, java_configs)
        for broker in self._brokers.values():
            broker.folder.mkdir(exist_ok=True)
            data = broker.folder / "data"
            write_properties(broker.properties, broker_properties(broker.id, self.layout, data))

    def _start(self, broker_id: int) -> None:
        broker = self._brokers[broker_id]
        heap_mb = _HEAP_MB[len(self._brokers)]
        command = self.jvm.command(BROKER, str(broker.properties), heap_mb=heap_mb)
        pid = broker.start(command)
        if self._guard:
            self._guard.watch(pid, str(broker.properties))

    def _check_running(self, broker_ids: Collection[int]) -> None:
        for broker_id in broker_ids:
            broker = self._brokers[broker_id]
            if not broker.is_running:
                end = last_lines(self._log_text(broker))
                raise KgitopsError(
                    f"broker {broker_id} of the sandbox died: {end}; its log is {broker.log}"
                )

    def _log_text(self, broker: BrokerProcess) -> str:
        return broker.log.read_text(errors="replace") if broker.log.exists() else ""

    def _close(self) -> None:
        if self._guard:
            self._guard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill_all()
