"""Class data sharing archives of Kafka's classes: they halve the processor time of every start."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.broker.guard import Guard
from kgitops.sandbox.broker.layout import CONTROLLER, Layout, free_ports
from kgitops.sandbox.jvm.jvm import Jvm
from kgitops.sandbox.locking import exclusive
from kgitops.sandbox.running import Sandbox

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
