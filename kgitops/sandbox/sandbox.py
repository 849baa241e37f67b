"""Starts a real Apache Kafka on loopback, for ``kgitops sandbox start`` and for tests."""

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.sandbox.certificates import issue_certificates
from kgitops.sandbox.files import exclusive
from kgitops.sandbox.guard import Guard
from kgitops.sandbox.jars import fetch_libs
from kgitops.sandbox.jvm import Jvm, find_java
from kgitops.sandbox.layout import (
    CONTROLLER,
    USERS,
    Layout,
    check_users,
    choose_ports,
    free_ports,
    listener_names,
)
from kgitops.sandbox.running import Sandbox

__all__ = ["Sandbox", "start"]

_ATTEMPTS = 3


def start(
    home: Path,
    *,
    brokers: int = 1,
    sasl: bool = False,
    tls: bool = False,
    users: Mapping[str, str] = USERS,
    properties: Mapping[str, str] | None = None,
    class_path: Sequence[Path] = (),
    libs: Path | None = None,
    detached: bool = False,
    wanted_ports: Sequence[int] = (),
    on_stage: Callable[[str], None] = lambda _: None,
) -> Sandbox:
    """Start brokers, ids from 1 to ``brokers``, with their files in the empty folder ``home``.

    With ``sasl`` clients log in as one of ``users`` (passwords by name, ``admin`` among them), with
    ``tls`` they present a certificate; both together give a listener for each and one for both.
    ``properties`` go into every server.properties and win over the sandbox's own. ``class_path``
    holds the caller's own jars and folders, for policies, ``libs`` the jars of another release of
    Kafka. Brokers die with this process, however it
    ends, unless they are ``detached``. They listen on free ports; ``wanted_ports`` are tried first.
    A start that loses a port to another process, or elects no leader, is repeated.

    Raises:
        UsageError: ``users`` has no ``admin``, or characters that would have to be quoted.
        KgitopsError: there is no Java, no download, or a broker died; the sentence says why.
        UnreachableError: the brokers run but don't answer.
    """
    check_users(users)
    jvm = prepare_jvm(home, class_path, on_stage, libs)
    certificates = issue_certificates(home / "tls", tuple(users)) if tls else None
    for attempt in range(1, _ATTEMPTS + 1):
        layout = Layout(
            ports=choose_ports(
                brokers, (*listener_names(sasl=sasl, tls=tls), CONTROLLER), wanted_ports
            ),
            users=users if sasl else {},
            certificates=certificates,
            properties=properties or {},
        )
        sandbox = Sandbox(home, layout, jvm, Guard(), on_stage)
        try:
            on_stage(f"starting Kafka with {brokers} broker{'s' if brokers > 1 else ''}")
            sandbox.boot()
        except BaseException as error:
            sandbox.kill_all()
            lost_a_port = sandbox.lost_a_port and attempt < _ATTEMPTS
            no_leader = attempt == 1 and elected_no_leader(sandbox, error)
            if not isinstance(error, KgitopsError) or not (lost_a_port or no_leader):
                raise
            on_stage(AGAIN)
            for folder in home.glob("broker-*"):
                shutil.rmtree(folder)
        else:
            if detached:
                sandbox.let_go()
            return sandbox
    raise AssertionError


AGAIN = "Kafka did not start; trying once more"


def elected_no_leader(sandbox: Sandbox, error: BaseException) -> bool:
    """True if a start failed because no leader was elected, which a busy machine may cause."""
    if isinstance(error, UnreachableError):
        return True
    return isinstance(error, KgitopsError) and sandbox.elected_no_leader


def prepare_jvm(
    home: Path,
    class_path: Sequence[Path],
    on_stage: Callable[[str], None],
    libs: Path | None = None,
) -> Jvm:
    """A Java with Kafka's jars, which are downloaded if this machine has none yet.

    Raises:
        KgitopsError: there is no Java, or the download fails.
    """
    java = find_java()
    libs = libs or fetch_libs(on_stage)
    home.mkdir(parents=True, exist_ok=True)
    log4j2 = home / "log4j2.properties"
    jvm = Jvm(java=java, libs=libs, class_path=class_path, log4j2=log4j2)
    return with_archive(jvm, on_stage)


_STOP_TIMEOUT_S = 120


def with_archive(jvm: Jvm, on_stage: Callable[[str], None]) -> Jvm:
    """The same JVM with an archive, which the first start with this Java creates next to the jars.

    Where none can be created, or it does not match, JVMs start without it, only more slowly.
    """
    archive = jvm.libs.parent / f"{jvm.libs.name}-{_java_key(jvm.java)}.jsa"
    if not archive.exists():
        with exclusive(archive):
            if not archive.exists():
                on_stage("preparing faster starts of Kafka (once on this machine)")
                _make(jvm, archive)
    usable = archive.exists() and archive.stat().st_size > 0
    return replace(jvm, archive=archive if usable else None)


def _make(jvm: Jvm, archive: Path) -> None:
    """Have a broker dump its loaded classes; the file is empty if this Java can't dump any."""
    home = archive.with_suffix(".part")
    shutil.rmtree(home, ignore_errors=True)  # of a preparation that was killed
    home.mkdir()
    dump = home / "classes.jsa"
    training = replace(jvm, class_path=(), log4j2=home / "log4j2.properties", dump=dump)
    broker, controller = free_ports(2)
    layout = Layout(ports={1: {"PLAINTEXT": broker, CONTROLLER: controller}})
    sandbox = Sandbox(home, layout, training, Guard())
    try:
        sandbox.boot()
        if sandbox.stop(_STOP_TIMEOUT_S):
            dump.touch()
            dump.rename(archive)
    except KgitopsError:
        pass  # the start that follows reports the same error, and a later one tries again
    finally:
        sandbox.kill_all()
        shutil.rmtree(home, ignore_errors=True)


def _java_key(java: Path) -> str:
    """A key that differs for every Java, and changes when one is upgraded in place."""
    real = java.resolve()
    return hashlib.sha256(f"{real} {real.stat().st_mtime_ns}".encode()).hexdigest()[:12]
