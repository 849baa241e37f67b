"""Sandboxes that outlive their command: started, found and stopped by ``kgitops sandbox``."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from platformdirs import user_state_path

from kgitops.model.errors import KgitopsError, UnreachableError, UsageError
from kgitops.model.resources.names import DEFAULT_SANDBOX, SANDBOX_NAMES, is_sandbox_name
from kgitops.sandbox.files import exclusive
from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jvm import Jvm
from kgitops.sandbox.layout import CONTROLLER, Layout, choose_ports
from kgitops.sandbox.running import Sandbox
from kgitops.sandbox.sandbox import AGAIN, elected_no_leader, prepare_jvm, start

FIRST_PORT = 19_092
"""The first of the ports that a sandbox tries when it is started for the first time."""
_MOST_PORTS = 6
_OWNER_ONLY = 0o700
"""The mode of a sandbox's folder, which holds passwords, keys and records."""


class Started(Struct, frozen=True, kw_only=True):
    """A sandbox that runs; ``busy_ports`` are those it would have, but others listen on them."""

    sandbox: Sandbox
    was_running: bool
    busy_ports: Sequence[int] = ()


class SandboxAddress(Struct, frozen=True, kw_only=True):
    """The servers and the id of a running sandbox.

    ``configs`` are the login of its administrator, under librdkafka's names.
    """

    name: str
    sandbox: Sandbox
    servers: str
    configs: Mapping[str, str]
    cluster_id: str

    def check(self, cluster_id: str) -> None:
        """Refuse another cluster that has taken a port meanwhile.

        Raises:
            UnreachableError: its id is not that of the sandbox.
        """
        if cluster_id != self.cluster_id:
            raise UnreachableError(
                f"{self.servers} leads to the cluster {cluster_id or 'without an id'}, not to "
                f"{title(self.name)}, whose id is {self.cluster_id}; "
                f"{_start_it(self.name, self.sandbox)}"
            )


def service_home(name: str = DEFAULT_SANDBOX) -> Path:
    """The folder of data, logs and pid files of the sandbox ``name``, in the user's state folder.

    Raises:
        UsageError: the name has other characters than a sandbox's name may have.
    """
    if not is_sandbox_name(name):
        raise UsageError(f"{name!r} can't be a sandbox's name; {SANDBOX_NAMES}")
    home = user_state_path("kgitops")
    return home / "sandbox" if name == DEFAULT_SANDBOX else home / "sandboxes" / name


def title(name: str) -> str:
    """The sandbox of this name, as a sentence names it."""
    return "the sandbox" if name == DEFAULT_SANDBOX else f"the sandbox {name}"


def find_running(name: str) -> SandboxAddress:
    """The address of the sandbox ``name``, whose own processes listen there.

    Nothing is sent to any port: another program may listen on one that the sandbox had before.

    Raises:
        UsageError: it can't be a sandbox's name.
        UnreachableError: it does not run; the sentence has the command that starts it.
        KgitopsError: its ``sandbox.json`` can't be read.
    """
    sandbox = load(service_home(name))
    start_it = _start_it(name, sandbox)
    if sandbox is None or not sandbox.running:
        raise UnreachableError(f"{title(name)} does not run; {start_it}")
    listening, cluster_id = sandbox.listening, sandbox.cluster_id
    if not listening or cluster_id is None:
        raise UnreachableError(
            f"{title(name)} runs and does not listen on {sandbox.servers}; wait until its start is "
            f"done, or stop it with kgitops sandbox stop{name_option(name)}, and {start_it}"
        )
    return SandboxAddress(
        name=name,
        sandbox=sandbox,
        servers=sandbox.layout.servers(sandbox.layout.listener, listening),
        configs=sandbox.configs,
        cluster_id=cluster_id,
    )


def name_option(name: str) -> str:
    """The option that names this sandbox, with a space before it; empty for the default one."""
    return "" if name == DEFAULT_SANDBOX else f" --name {name}"


def _start_it(name: str, sandbox: Sandbox | None) -> str:
    options = f" {sandbox.start_options}" if sandbox else ""
    return f"start it with kgitops sandbox start{options}{name_option(name)}"


def start_service(
    home: Path, *, brokers: int, sasl: bool, on_stage: Callable[[str], None]
) -> Started:
    """Start the sandbox, or join it if it runs.

    Existing data (after ``stop --keep``, a reboot or a crash) is used again, and so are the ports
    of the start before, even if the data was deleted.

    Raises:
        UsageError: there is a sandbox with other settings.
        KgitopsError: it can't be started.
        UnreachableError: it runs and does not answer.
    """
    with exclusive(home):
        sandbox = load(home)
        if sandbox is None:
            shutil.rmtree(home, ignore_errors=True)  # the logs of a failed start
            home.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
            wanted = _wanted_ports(home)
            sandbox = start(
                home,
                brokers=brokers,
                sasl=sasl,
                detached=True,
                wanted_ports=wanted,
                on_stage=on_stage,
            )
            save(sandbox)
            return _started(sandbox, wanted)
        _check_same(sandbox, brokers=brokers, sasl=sasl)
        if sandbox.running == sandbox.broker_ids:
            return Started(sandbox=sandbox, was_running=True)
        home.chmod(_OWNER_ONLY)  # an older kgitops left it open
        return _started(_resumed(sandbox, on_stage), sandbox.layout.all_ports)


def stop_service(home: Path, *, keep: bool) -> Sandbox | None:
    """Stop the sandbox, cleanly if possible, and delete its data unless ``keep``.

    Raises:
        KgitopsError: its ``sandbox.json`` can't be read.
    """
    with exclusive(home):
        sandbox = load(home)
        if sandbox:
            sandbox.stop()
            if not keep:
                shutil.rmtree(home)
        return sandbox


def _resumed(stopped: Sandbox, on_stage: Callable[[str], None]) -> Sandbox:
    """The sandbox started again with its data; a port that is taken now is replaced."""
    layout = stopped.layout
    if not stopped.running:
        listeners = (*layout.listeners, CONTROLLER)
        ports = choose_ports(len(layout.ports), listeners, layout.all_ports)
        layout = replace(layout, ports=ports)
    jvm = prepare_jvm(stopped.home, (), on_stage)
    for is_last in (False, True):
        sandbox = Sandbox(stopped.home, layout, jvm, Guard(), on_stage)
        on_stage("starting Kafka with the data from before")
        try:
            sandbox.resume()
        except BaseException as error:
            sandbox.kill_all()
            if is_last or not elected_no_leader(sandbox, error):
                raise
            on_stage(AGAIN)
        else:
            save(sandbox)
            sandbox.let_go()
            return sandbox
    raise AssertionError


def _started(sandbox: Sandbox, wanted: Sequence[int]) -> Started:
    ports = sandbox.layout.all_ports
    busy = [port for port in wanted[: len(ports)] if port not in ports]
    return Started(sandbox=sandbox, was_running=False, busy_ports=busy)


def _check_same(sandbox: Sandbox, *, brokers: int, sasl: bool) -> None:
    count, users = len(sandbox.broker_ids), bool(sandbox.layout.users)
    if (count, users) == (brokers, sasl):
        return
    raise UsageError(
        f"there is a sandbox that was started with {sandbox.start_options}; use the same options, "
        "choose another with --name, or delete it and its data with kgitops sandbox stop"
    )


def save(sandbox: Sandbox) -> None:
    """Write ``sandbox.json``, from which later commands load the sandbox."""
    ports = {str(id_): dict(ports) for id_, ports in sandbox.layout.ports.items()}
    jvm = {"java": str(sandbox.jvm.java), "libs": str(sandbox.jvm.libs)}
    content = {"ports": ports, "users": dict(sandbox.layout.users), **jvm}
    file = _file(sandbox.home)
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=2) + "\n")
    _ports_file(sandbox.home).write_text(json.dumps(sandbox.layout.all_ports) + "\n")


def load(home: Path) -> Sandbox | None:
    """The sandbox whose files are in ``home``, running or not; None where there is none.

    Raises:
        KgitopsError: ``sandbox.json`` can't be read.
    """
    file = _file(home)
    try:
        content = json.loads(file.read_text())
        ports = {int(id_): dict(ports) for id_, ports in content["ports"].items()}
        layout = Layout(ports=ports, users=dict(content["users"]))
        java, libs = Path(content["java"]), Path(content["libs"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KgitopsError(
            f"{file} can't be read ({type(error).__name__}: {error}); kill the processes whose "
            f"numbers are in {home}/broker-*/pid, and delete {home}"
        ) from error
    log4j2 = home / "log4j2.properties"
    return Sandbox(home, layout, Jvm(java=java, libs=libs, log4j2=log4j2))


def _file(home: Path) -> Path:
    return home / "sandbox.json"


def _wanted_ports(home: Path) -> list[int]:
    """The ports of the sandbox that was here before, then those of a first start."""
    try:
        before = msgspec.json.decode(_ports_file(home).read_bytes(), type=list[int])
    except (OSError, msgspec.DecodeError):
        before = []
    return list(dict.fromkeys([*before, *range(FIRST_PORT, FIRST_PORT + _MOST_PORTS)]))


def _ports_file(home: Path) -> Path:
    return home.with_name(f"{home.name}.ports")
