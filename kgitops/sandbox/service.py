"""Sandboxes that outlive their command: started, found and stopped by ``kgitops sandbox``."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from platformdirs import user_state_path

from kgitops.model.errors import KgitopsError, UsageError
from kgitops.sandbox.files import exclusive
from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jvm import Jvm
from kgitops.sandbox.layout import CONTROLLER, Layout, choose_ports, is_free
from kgitops.sandbox.running import Sandbox
from kgitops.sandbox.sandbox import prepare_jvm, start

FIRST_PORT = 19_092
"""Tried first, so that a project file's URL stays valid from one start to the next."""

DEFAULT_NAME = "sandbox"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_OWNER_ONLY = 0o700
"""The mode of a sandbox's folder, which holds passwords, keys and records."""


def service_home(name: str = DEFAULT_NAME) -> Path:
    """The folder of data, logs and pid files of the sandbox ``name``, in the user's state folder.

    Raises:
        UsageError: the name has other characters than a sandbox's name may have.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name!r} can't be a sandbox's name; write up to 40 small letters, digits and -"
        )
    home = user_state_path("kgitops")
    return home / "sandbox" if name == DEFAULT_NAME else home / "sandboxes" / name


def start_service(
    home: Path, *, brokers: int, sasl: bool, on_stage: Callable[[str], None]
) -> tuple[Sandbox, bool]:
    """The running sandbox, and true if it was running before.

    Existing data (after ``stop --keep``, a reboot or a crash) is used again.

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
            sandbox = start(
                home,
                brokers=brokers,
                sasl=sasl,
                detached=True,
                first_port=FIRST_PORT,
                on_stage=on_stage,
            )
            save(sandbox)
            return sandbox, False
        _check_same(sandbox, brokers=brokers, sasl=sasl)
        if sandbox.running == sandbox.broker_ids:
            return sandbox, True
        home.chmod(_OWNER_ONLY)  # an older kgitops left it open
        return _resumed(sandbox, on_stage), False


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
    """The sandbox started again with its data, on other ports if its own are taken now."""
    layout = stopped.layout
    ports = [port for listeners in layout.ports.values() for port in listeners.values()]
    if not stopped.running and not all(map(is_free, ports)):
        listeners = (*layout.listeners, CONTROLLER)
        layout = replace(layout, ports=choose_ports(len(layout.ports), listeners, FIRST_PORT))
    jvm = prepare_jvm(stopped.home, (), on_stage)
    sandbox = Sandbox(stopped.home, layout, jvm, Guard())
    on_stage("starting Kafka with the data from before")
    try:
        sandbox.resume()
    except BaseException:
        sandbox.kill_all()
        raise
    save(sandbox)
    sandbox.let_go()
    return sandbox


def _check_same(sandbox: Sandbox, *, brokers: int, sasl: bool) -> None:
    count, users = len(sandbox.broker_ids), bool(sandbox.layout.users)
    if (count, users) == (brokers, sasl):
        return
    option = f"--brokers {count}{' --sasl' if users else ''}"
    raise UsageError(
        f"there is a sandbox that was started with {option}; use the same options, choose another "
        "with --name, or delete it and its data with kgitops sandbox stop"
    )


def save(sandbox: Sandbox) -> None:
    """Write ``sandbox.json``, from which later commands load the sandbox."""
    ports = {str(id_): dict(ports) for id_, ports in sandbox.layout.ports.items()}
    jvm = {"java": str(sandbox.jvm.java), "libs": str(sandbox.jvm.libs)}
    content = {"ports": ports, "users": dict(sandbox.layout.users), **jvm}
    file = _file(sandbox.home)
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=2) + "\n")


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
