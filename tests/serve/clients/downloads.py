"""Clients that no Python package brings: fetched once on a machine, each by its language's tool.

Java's are pinned by digests as Kafka is, KafkaJS by ``package-lock.json``, Go's by ``go.sum``.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from kgitops.sandbox.files import exclusive
from kgitops.sandbox.jars import Jar, fetch_jars

HERE = Path(__file__).parent
KAFKAJS, GO = HERE / "kafkajs", HERE / "go"
JAVA_CLIENTS: Mapping[str, str] = {
    "1.1.1": "a92dd1c76be061ad40e1d2421c8a6a3f148c6c3b82af2f2259ad40e7c400d7bc",
    "2.8.2": "0351de6b808f551e4c6cf230a83984d653e14776cc0f4621e7a3eab377e2f621",
    "3.9.1": "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9",
}
"""Digests of kafka-clients by version; that of today comes with Kafka itself."""
_PATIENCE_S = 600


def program(name: str, what: str) -> str:
    """The path of a program; a test that needs it fails where there is none, and is not skipped."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"there is no {name} here: install {what}", pytrace=False)
    return found


def java_client(version: str) -> Path:
    """The jar of kafka-clients in an older version."""
    jar = Jar(
        group="org.apache.kafka",
        name="kafka-clients",
        version=version,
        sha256=JAVA_CLIENTS[version],
    )
    folder = user_cache_path("kgitops") / f"kafka-clients-{version}"
    return fetch_jars([jar], folder, f"Kafka's client {version}", lambda _: None) / jar.file


def kafkajs() -> Path:
    """The folder ``node_modules`` with KafkaJS."""
    npm = program("npm", "Node.js, which brings it")
    lock = (KAFKAJS / "package-lock.json").read_bytes()
    home = user_cache_path("kgitops") / "kafkajs-2.2.4"
    with exclusive(home):
        if not _is_installed(home, lock):
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(KAFKAJS / name, home)
            _fetch([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)
    return home / "node_modules"


def _is_installed(home: Path, lock: bytes) -> bool:
    """npm writes the file in ``node_modules`` last."""
    copy = home / "package-lock.json"
    done = home / "node_modules" / ".package-lock.json"
    return done.is_file() and copy.read_bytes() == lock


def go_program(name: str, folder: Path, module: Path = GO) -> Path:
    """Compile one of a module's programs; what they need Go fetches and keeps by itself."""
    go = program("go", "Go 1.26 or newer")
    made = folder / name
    with exclusive(user_cache_path("kgitops") / "go-build"):
        # CGO_ENABLED: a C compiler is not needed for what these programs do.
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
        _fetch([go, "build", "-o", str(made), f"./{name}"], module, environment)
    return made


def _fetch(
    words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
