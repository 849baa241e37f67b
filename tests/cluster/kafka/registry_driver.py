"""A contender for the registry's lock as a process of its own.

Usage: registry_driver.py SERVERS CONFIGS NAME LEASE_MS TIMEOUT_MS. Each line of stdin is a command,
each is answered with one line: ``won``, ``done`` or the error.

================ ==============================================================================
``acquire AT``   contend for the lock at that moment (seconds of the epoch)
``write N``      append N records under the lock, one append each
``release``      give the lock back
``torn``         begin a transaction, write half of it, and wait to be killed
``toil``         renew and write for as long as that works; then the error
================ ==============================================================================
"""

import json
import sys
import time

from cluster.kafka.registry_logs import JustTheRegistry, open_log

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.lock import Lock, acquire
from kgitops.model.clock import SystemClock
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.names import REGISTRY_TOPIC


class Contender:
    def __init__(
        self, servers: str, configs: str, name: str, lease_ms: str, timeout_ms: str
    ) -> None:
        self.log, self.wire = open_log(servers, json.loads(configs))
        self.name = name
        self.lock: Lock | None = None
        self.written = 0
        self.context = ApplyContext(
            cluster=JustTheRegistry(self.log),  # type: ignore[arg-type]
            settings=ApplySettings(lease_ms=int(lease_ms), timeout_ms=int(timeout_ms)),
            clock=SystemClock(),
            on_event=lambda _: None,
            interrupted=lambda: None,
        )

    def run(self, command: str) -> str:
        word, _, rest = command.partition(" ")
        try:
            match word:
                case "acquire":
                    time.sleep(max(0.0, float(rest) - time.time()))
                    self.lock = acquire(self.context, holder=self.name)
                    return "won"
                case "write":
                    for _ in range(int(rest)):
                        self._write()
                case "toil":
                    while True:
                        self._lock.heartbeat()
                        self._write()
                case "torn":
                    self._tear()
                case "release":
                    self._lock.release()
        except KgitopsError as error:
            return f"{type(error).__name__}: {error}"
        return "done"

    @property
    def _lock(self) -> Lock:
        assert self.lock
        return self.lock

    def _write(self) -> None:
        self.written += 1
        record = {"schema_version": 1, "by": self.name, "number": self.written}
        self._lock.append([(f"run/{self.name}/{self.written}", record)])

    def _tear(self) -> None:
        """Leave what a process leaves that dies between its records and the commit."""
        assert self.log._writer
        producer = self.log._writer._producer
        producer.begin_transaction()
        for part in ("torn/1", "torn/2"):
            producer.produce(REGISTRY_TOPIC, key=part, value='{"schema_version":1}', partition=0)
        assert producer.flush(30) == 0


if __name__ == "__main__":
    contender = Contender(*sys.argv[1:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(contender.run(line.strip()), flush=True)
