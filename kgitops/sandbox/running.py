"""Brokers that run (or did): one JVM each, a controller too (KRaft)."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.broker.broker import STOP_PATIENCE_S, Broker
from kgitops.sandbox.broker.guard import Guard
from kgitops.sandbox.broker.layout import Layout
from kgitops.sandbox.broker.properties import broker_properties
from kgitops.sandbox.broker.ready import await_ready
from kgitops.sandbox.broker.storage import format_data, write_properties
from kgitops.sandbox.jvm.jvm import BROKER, LOG4J2, Jvm
from kgitops.sandbox.jvm.jvm_output import first_words, last_words

_HEAP_MB = {1: 1024, 3: 512}
_TAKEN = "Address already in use"


class Sandbox:
    """The brokers whose files are in ``home``; :func:`kgitops.sandbox.sandbox.start` makes one."""

    def __init__(self, home: Path, layout: Layout, jvm: Jvm, guard: Guard | None = None) -> None:
        self.home = home
        self.layout = layout
        self.jvm = jvm
        self._guard = guard
        self._brokers = {id_: Broker(id_, home / f"broker-{id_}") for id_ in layout.ports}
        self._admin_properties = home / "admin.properties"

    @property
    def servers(self) -> str:
        """``127.0.0.1:PORT,…`` of the default listener."""
        return self.layout.servers(self.layout.listener)

    @property
    def configs(self) -> Mapping[str, str]:
        """What the administrator's client needs, in librdkafka's names."""
        return self.layout.client_configs()

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """All of them, running or not."""
        return tuple(self._brokers)

    @property
    def running(self) -> tuple[int, ...]:
        """Those whose JVM runs."""
        return tuple(id_ for id_, broker in self._brokers.items() if broker.is_running)

    def log(self, broker_id: int) -> Path:
        """The file that a broker's warnings and errors go to."""
        return self._brokers[broker_id].log

    def kill(self, broker_id: int) -> None:
        """SIGKILL, as when the power fails."""
        self._brokers[broker_id].kill()

    def stop_broker(self, broker_id: int) -> None:
        """Stop one cleanly, which takes a second or two: it gives up its leaderships first."""
        self._brokers[broker_id].terminate()
        self._brokers[broker_id].await_stop()

    def start_broker(self, broker_id: int) -> None:
        """Start a stopped or killed broker on the same port with the same data; wait for it.

        Raises:
            KgitopsError: it died again.
            UnreachableError: it does not answer.
        """
        wanted = {*self.running, broker_id}
        self._start(broker_id)
        self._await_ready(wanted)

    def stop(self, patience_s: float = STOP_PATIENCE_S) -> bool:
        """Stop all cleanly; what has not stopped after ``patience_s`` seconds is killed: False."""
        for broker in self._brokers.values():
            broker.terminate()
        in_time = [broker.await_stop(patience_s) for broker in self._brokers.values()]
        self._close()
        return all(in_time)

    def kill_all(self) -> None:
        """SIGKILL for all, where nobody wants the data any more."""
        for broker in self._brokers.values():
            broker.kill()
        self._close()

    def tool(self, main: str, *words: str, timeout_s: float = 60) -> str:
        """Run one of Kafka's own Java tools against the sandbox as the administrator; its output.

        ``tool("org.apache.kafka.tools.TopicCommand", "--list")``

        Raises:
            KgitopsError: it failed.
        """
        where = ["--bootstrap-server", self.servers]
        if self._admin_properties.exists():
            where += ["--command-config", str(self._admin_properties)]
        done = self.jvm.run(main, *where, *words, timeout_s=timeout_s)
        if done.returncode:
            raise KgitopsError(f"{main} failed: {first_words(done.stdout + done.stderr)}")
        return done.stdout

    def boot(self) -> None:
        """Format the data, start all brokers and wait until they answer.

        Raises:
            KgitopsError: one died, and its last words.
            UnreachableError: they don't answer.
        """
        self._write_settings()
        folders = {id_: broker.folder for id_, broker in self._brokers.items()}
        format_data(self.jvm, folders, self.layout.users)
        self._start_all()

    def resume(self) -> None:
        """Start the brokers that don't run, with the data they have, and wait for all.

        Raises:
            KgitopsError: one died, and its last words.
            UnreachableError: they don't answer.
        """
        self._write_settings()
        self._start_all()

    def let_go(self) -> None:
        """Let the brokers live on when this process ends."""
        if self._guard:
            self._guard.release()
            self._guard = None

    def await_ready(self) -> None:
        """Wait until every running broker answers and sees the others.

        Raises:
            KgitopsError: one died.
            UnreachableError: they don't answer.
        """
        self._await_ready(self.running)

    def _await_ready(self, wanted: Collection[int]) -> None:
        listener = self.layout.listener
        servers = {id_: self.layout.server(id_, listener) for id_ in wanted}
        await_ready(servers, self.configs, check=lambda: self._check_running(wanted))

    @property
    def lost_a_port(self) -> bool:
        """Whether a broker said that another process listens on its port."""
        return any(_TAKEN in self._said(broker) for broker in self._brokers.values())

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

    def _check_running(self, wanted: Collection[int]) -> None:
        for broker_id in wanted:
            broker = self._brokers[broker_id]
            if not broker.is_running:
                raise KgitopsError(
                    f"broker {broker_id} of the sandbox died: {last_words(self._said(broker))}; "
                    f"its log is {broker.log}"
                )

    def _said(self, broker: Broker) -> str:
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
