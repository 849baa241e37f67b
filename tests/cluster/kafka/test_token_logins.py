"""Logins by tokens and by a key store through whole applies, and over the end of tokens.

Applies write the registry with librdkafka's transactional producer, so both clients log in.
"""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from cli.projects import Project, topic
from cluster.kafka.many_listeners import PASSWORD, ManyListeners
from cluster.kafka.msk_verifier import ENVIRON, SECRET_KEY
from cluster.kafka.token_package import install_example, register
from kafka.protocol.metadata import MetadataRequest
from patience import eventually

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.cluster.registry import meta_record

WAYS: dict[str, tuple[str, Callable[[ManyListeners, str], dict[str, str]]]] = {
    "msk": ("MSK", lambda many, file: many.on_msk()),
    "provider": ("OAUTH", lambda many, file: many.with_provider(file)),
    "keystore": (
        "MUTUAL",
        lambda many, file: many.storing() | {"ssl.keystore.password": "${env:STORE_PASSWORD}"},
    ),
}


def kgitops(project: Project, packages: Path, *words: str) -> tuple[int, str]:
    """Run it with the guide's package installed; return its exit code and all that it says."""
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", "--log-level", "debug", *words, str(project.folder)],
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            **ENVIRON,
            "STORE_PASSWORD": PASSWORD,
            "PYTHONPATH": str(packages),
        },
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_project_is_applied_and_no_secret_is_said_or_written(
    many: ManyListeners, tmp_path: Path, way: str
):
    listener, configs = WAYS[way]
    packages = tmp_path / "packages"
    packages.mkdir()
    install_example(packages)
    token = many.provider.token("kafka:admin")
    (packages / "token").write_text(token)
    project = Project(tmp_path / way, uid=f"0c6f0a52-98f3-4b65-8f1c-{list(WAYS).index(way):012}")
    project.write(topic(f"by-{way}", partitions=1, replicationFactor=1))
    cluster = {
        "url": f"kafka://{many.server(listener)}",
        "configs": configs(many, str(packages / "token")),
    }
    project.write_file(metadata={"name": way}, clusters={"real": cluster})
    code, said = kgitops(project, packages, "apply", "--auto-approve")
    assert code == 0, said
    assert f"by-{way}" in said
    code, again = kgitops(project, packages, "plan")
    assert code == 0, again
    assert f"+ topic by-{way}" not in again
    written = said + again
    for file in project.folder.rglob("*"):
        written += file.read_bytes().decode(errors="replace") if file.is_file() else ""
    assert " kafka." in written  # the clients' lines are among them
    for secret in (PASSWORD, SECRET_KEY, token, *many.msk.accepted):
        assert secret not in written


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """The module of a provider; its ``sign`` makes the tokens."""
    (tmp_path / "short_tokens.py").write_text(
        "ends = []\n\n\ndef get(config):\n    token, end = sign()\n    ends.append(end)\n"
        "    return token, end, 'ci'\n"
    )
    register(tmp_path, "short-tokens", {"short": "short_tokens:get"})
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("short_tokens")
    del sys.modules["short_tokens"]


def forget(booted: "Callable[[], closing[KafkaCluster]]") -> None:
    """Remove the test's record, which no apply understands, whatever became of its connection."""
    with booted() as cluster:
        cluster.registry.fence()
        cluster.registry.append([("lock/short", None)])


def test_both_clients_go_on_when_tokens_end(
    many: ManyListeners, short: object, monkeypatch: pytest.MonkeyPatch
):
    """Brokers end a login with its token (KIP-368); several end while both clients work."""
    # librdkafka asks for the next token after four fifths; a busy machine needs the rest.
    monkeypatch.setattr(many.provider, "life_s", 12)

    def sign() -> tuple[str, float]:
        return many.provider.token("kafka:admin"), float(int(time.time()) + many.provider.life_s)

    def booted() -> "closing[KafkaCluster]":
        return closing(boot(many.server("OAUTH"), many.with_provider("any", "short")))

    short.sign = sign
    with booted() as cluster, ExitStack() as after:
        registry = cluster.registry
        if registry.read() is None:
            registry.append([meta_record()])
        registry.fence()
        after.callback(forget, booted)
        numbers = count()

        def work() -> list[float]:
            registry.append([("lock/short", {"schema_version": 1, "number": next(numbers)})])
            assert cluster.wire.send(MetadataRequest(topics=[]), to=1).controller_id == 1
            return short.ends

        eventually(work, lambda ends: len(ends) >= 4, what="three tokens end")
        assert short.ends[-1] > short.ends[0] + 2 * many.provider.life_s
        entries = [one.value for one in registry.read() or () if one.key == "lock/short"]
        assert entries[-1]["number"] == next(numbers) - 1
