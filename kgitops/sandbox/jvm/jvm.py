"""How a JVM with Kafka's jars is started."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
# A JVM that lives for minutes, beside others on few cores, should start fast and stay small: half
# of the processor time of a start is saved so, and another half by an archive of loaded classes.
_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xlog:cds=off",  # an archive that does not fit is just not used
    "-Xlog:class+path=off",
)
_TOOL_MB = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """A Java, Kafka's jars, and what a user puts behind them on the class path.

    ``archive`` holds classes as JVMs want them in memory; brokers write ``dump``, such an archive,
    when they stop cleanly.
    """

    java: Path
    libs: Path
    class_path: Sequence[Path] = ()
    log4j2: Path
    archive: Path | None = None
    dump: Path | None = None

    def command(self, main: str, *words: str, heap_mb: int = _TOOL_MB) -> list[str]:
        """The command line that runs a main class."""
        path = os.pathsep.join([str(self.libs / "*"), *map(str, self.class_path)])
        flags = [f"-Xmx{heap_mb}m", *_FLAGS, f"-Dlog4j2.configurationFile={self.log4j2}"]
        if self.archive:
            flags.append(f"-XX:SharedArchiveFile={self.archive}")
        if self.dump and main == BROKER:
            flags.append(f"-XX:ArchiveClassesAtExit={self.dump}")
        return [str(self.java), *flags, "-cp", path, main, *words]

    def run(
        self, main: str, *words: str, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a main class to its end."""
        return subprocess.run(
            self.command(main, *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
