"""A real Apache Kafka on loopback: what ``kgitops sandbox start`` and the tests start."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.certificates import issue_certificates
from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jars import fetch_libs
from kgitops.sandbox.java import find_java
from kgitops.sandbox.jvm import Jvm
from kgitops.sandbox.layout import CONTROLLER, Layout, listener_names
from kgitops.sandbox.ports import free_ports
from kgitops.sandbox.running import Sandbox
from kgitops.sandbox.users import USERS

__all__ = ["Sandbox", "start"]

_TRIES = 3


def start(
    home: Path,
    *,
    brokers: int = 1,
    sasl: bool = False,
    tls: bool = False,
    users: Mapping[str, str] = USERS,
    properties: Mapping[str, str] | None = None,
    class_path: Sequence[Path] = (),
    detached: bool = False,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Sandbox:
    """Start brokers, ids from 1 to ``brokers``, with their files in the empty folder ``home``.

    With ``sasl`` clients log in as one of ``users`` (passwords by name, ``admin`` among them), with
    ``tls`` they show a certificate; both together give a listener for each and one for both.
    ``properties`` go into every server.properties and win over the sandbox's own. ``class_path``
    holds jars and folders of one's own, for policies. Brokers die with this process, however it
    ends, unless they are ``detached``.

    Raises:
        KgitopsError: there is no Java, no download, or a broker died; the sentence says of what.
        UnreachableError: they run and don't answer.
    """
    java = find_java()
    libs = fetch_libs(on_stage)
    home.mkdir(parents=True, exist_ok=True)
    jvm = Jvm(java=java, libs=libs, class_path=class_path, log4j2=home / "log4j2.properties")
    certificates = issue_certificates(home / "tls", tuple(users)) if tls else None
    for attempt in range(1, _TRIES + 1):
        layout = Layout(
            ports=_free_ports(brokers, (*listener_names(sasl=sasl, tls=tls), CONTROLLER)),
            users=users if sasl else {},
            certificates=certificates,
            properties=properties or {},
        )
        sandbox = Sandbox(home, layout, jvm, None if detached else Guard())
        try:
            on_stage(f"starting Kafka with {brokers} broker{'s' if brokers > 1 else ''}")
            sandbox.boot()
        except BaseException as error:
            sandbox.kill_all()
            if attempt == _TRIES or not isinstance(error, KgitopsError) or not sandbox.lost_a_port:
                raise
            for folder in home.glob("broker-*"):  # another process was quicker with a port
                shutil.rmtree(folder)
        else:
            return sandbox
    raise AssertionError


def _free_ports(brokers: int, listeners: Sequence[str]) -> dict[int, dict[str, int]]:
    ports = iter(free_ports(brokers * len(listeners)))
    return {id_: {name: next(ports) for name in listeners} for id_ in range(1, brokers + 1)}
