"""Sandboxes that outlive their command: started, found and stopped by ``kgitops sandbox``."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from platformdirs import user_state_path

from kgitops.model.errors import UsageError
from kgitops.sandbox.broker.guard import Guard
from kgitops.sandbox.broker.layout import CONTROLLER
from kgitops.sandbox.locking import alone
from kgitops.sandbox.ports import is_free
from kgitops.sandbox.running import Sandbox
from kgitops.sandbox.sandbox import choose_ports, prepare_jvm, start
from kgitops.sandbox.saved import load, save

FIRST_PORT = 19_092
"""Tried first, so that a project file's URL stays true from one start to the next."""


DEFAULT_NAME = "sandbox"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def service_home(name: str = DEFAULT_NAME) -> Path:
    """The folder of data, logs and pid files of the sandbox ``name``, in the user's state folder.

    Raises:
        UsageError: it can't be a name.
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
    """The running sandbox, and whether it was running before.

    Data that is there from before (``stop --keep``, a reboot, a crash) is used again.

    Raises:
        UsageError: there is one with other settings.
        KgitopsError: it can't be started.
        UnreachableError: it runs and does not answer.
    """
    with alone(home):
        found = load(home)
        if found is None:
            shutil.rmtree(home, ignore_errors=True)  # what a start that failed left for its reader
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
        _check_same(found, brokers=brokers, sasl=sasl)
        if found.running == found.broker_ids:
            return found, True
        return _resumed(found, on_stage), False


def find_service(home: Path) -> Sandbox | None:
    """The sandbox in ``home``, running or not; None where there is none.

    Raises:
        KgitopsError: what it left can't be read.
    """
    return load(home)


def stop_service(home: Path, *, keep: bool) -> Sandbox | None:
    """Stop what runs, cleanly if it can be; its data is deleted unless ``keep``.

    Raises:
        KgitopsError: what it left can't be read.
    """
    with alone(home):
        found = load(home)
        if found:
            found.stop()
            if not keep:
                shutil.rmtree(home)
        return found


def _resumed(found: Sandbox, on_stage: Callable[[str], None]) -> Sandbox:
    """Its brokers with the data they have, on other ports if theirs were given away meanwhile."""
    layout = found.layout
    ports = [port for of_broker in layout.ports.values() for port in of_broker.values()]
    if not found.running and not all(map(is_free, ports)):
        listeners = (*layout.listeners, CONTROLLER)
        layout = replace(layout, ports=choose_ports(len(layout.ports), listeners, FIRST_PORT))
    jvm = prepare_jvm(found.home, (), on_stage)
    sandbox = Sandbox(found.home, layout, jvm, Guard())
    on_stage("starting Kafka with the data from before")
    try:
        sandbox.resume()
    except BaseException:
        sandbox.kill_all()
        raise
    save(sandbox)
    sandbox.let_go()
    return sandbox


def _check_same(found: Sandbox, *, brokers: int, sasl: bool) -> None:
    has = (len(found.broker_ids), bool(found.layout.users))
    if has == (brokers, sasl):
        return
    count, users = has
    option = f"--brokers {count}{' --sasl' if users else ''}"
    raise UsageError(
        f"there is a sandbox that was started with {option}; start it so, choose another with "
        "--name, or delete it and its data with kgitops sandbox stop"
    )
