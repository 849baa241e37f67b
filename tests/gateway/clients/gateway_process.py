"""``kgitops gateway`` in a process of its own, with TLS towards clients and towards brokers."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.clients.tenants import CLUSTER, PASSWORD, USERS

_PATIENCE_S = 60


@contextmanager
def gateway(
    project: Path, certificate: Path, folder: Path, *more: str, **environ: str
) -> Iterator[str]:
    """The bootstrap servers of a gateway before the project's cluster, while it runs.

    It writes to ``gateway.log`` in the folder.
    """
    ready, log = folder / "ready", folder / "gateway.log"
    words = [
        *(sys.executable, "-m", "kgitops", "gateway", str(project), "-c", CLUSTER),
        *("--listen", "127.0.0.1:0", "--ready-file", str(ready)),
        *("--tls-cert", str(certificate), "--tls-key", str(certificate)),
        *more,
    ]
    environment = {**os.environ, PASSWORD: USERS["admin"], **environ}
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not ready.is_file():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield ready.read_text().removeprefix("ready kafka://").strip()
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
