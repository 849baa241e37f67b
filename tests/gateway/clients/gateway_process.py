"""``kgitops gateway`` in a process of its own, with TLS towards clients and towards brokers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.clients.tenants import CLUSTER, PASSWORD, USERS
from patience import eventually


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

    def said() -> str:
        assert process.poll() is None, log.read_text()
        return log.read_text()

    try:
        eventually(said, lambda _: ready.is_file(), what="the gateway is ready")
        yield ready.read_text().removeprefix("ready kafka://").strip()
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
