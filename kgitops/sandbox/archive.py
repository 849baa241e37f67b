"""Kafka's classes as a JVM wants them in memory: halves the processor time of every start."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.broker.guard import Guard
from kgitops.sandbox.broker.layout import CONTROLLER, Layout
from kgitops.sandbox.jvm.jvm import Jvm
from kgitops.sandbox.locking import alone
from kgitops.sandbox.ports import free_ports
from kgitops.sandbox.running import Sandbox

_PATIENCE_S = 120


def with_archive(jvm: Jvm, on_stage: Callable[[str], None]) -> Jvm:
    """The same with an archive, made beside the jars by the first who starts with this Java.

    Where none can be made, and where it does not fit, JVMs start without: slower, and that is all.
    """
    archive = jvm.libs.parent / f"{jvm.libs.name}-{_java_key(jvm.java)}.jsa"
    if not archive.exists():
        with alone(archive):
            if not archive.exists():
                on_stage("preparing faster starts of Kafka (once on this machine)")
                _make(jvm, archive)
    usable = archive.exists() and archive.stat().st_size > 0
    return replace(jvm, archive=archive if usable else None)


def _make(jvm: Jvm, archive: Path) -> None:
    """Run a broker, and let it write what it has loaded; an empty file says that it never can."""
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
        if sandbox.stop(_PATIENCE_S):
            dump.touch()
            dump.rename(archive)
    except KgitopsError:
        pass  # the next start tries again, after it has said what is wrong with Kafka
    finally:
        sandbox.kill_all()
        shutil.rmtree(home, ignore_errors=True)


def _java_key(java: Path) -> str:
    """Differs for every Java, and for one that was upgraded in place."""
    real = java.resolve()
    return hashlib.sha256(f"{real} {real.stat().st_mtime_ns}".encode()).hexdigest()[:12]
