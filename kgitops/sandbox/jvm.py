"""How a JVM with Kafka's jars is started."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
# A JVM that lives for minutes, beside others on few cores: it should start fast and stay small.
_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """A Java, Kafka's jars, and what a user puts behind them on the class path."""

    java: Path
    libs: Path
    class_path: Sequence[Path] = ()
    log4j2: Path

    def command(self, main: str, *words: str, heap_mb: int = 256) -> list[str]:
        """The command line that runs a main class."""
        path = os.pathsep.join([str(self.libs / "*"), *map(str, self.class_path)])
        heap = (f"-Xmx{heap_mb}m", *_FLAGS)
        logs = f"-Dlog4j2.configurationFile={self.log4j2}"
        return [str(self.java), *heap, logs, "-cp", path, main, *words]

    def run(
        self, main: str, *words: str, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run one to its end."""
        return subprocess.run(
            self.command(main, *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
