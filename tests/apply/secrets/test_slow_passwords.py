"""Programs and pipes that take long to give a password: the lock is kept meanwhile."""

import os
import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from apply.plans import Apply
from apply.secrets.users_on_clusters import can_log_in, plan_users_on
from builders import a_topic, a_user
from used import users_of

from kgitops.apply.context import ApplySettings
from kgitops.apply.secrets import PasswordSettings, salt
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import StaleError
from kgitops.model.requests import SaltedCredentialsRequest
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Plan

SHORT = ApplySettings(parallelism=2, lease_ms=3_000, timeout_ms=500)
"""A lease that ends while the checks or the programs of a test still run, unless it is renewed."""


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return boot(None, brokers=3)


def apply_to(cluster: EmbeddedCluster, base: Path, **fields: object) -> Apply:
    passwords = PasswordSettings(base=base, may_act=True)
    return Apply(
        cluster=cluster, settings=SHORT, clock=SystemClock(), passwords=passwords, **fields
    )  # type: ignore[arg-type]


def slow_program(base: Path, seconds: float) -> PasswordSource:
    """A program that writes down when it begins and ends."""
    script = base / "get"
    script.write_text(f"#!/bin/sh\necho begin >>log\nsleep {seconds}\necho end >>log\necho word\n")
    script.chmod(0o700)
    return PasswordSource(command=("./get",))


def most_at_once(log: str) -> int:
    running = [0]
    for word in log.split():
        running.append(running[-1] + (1 if word == "begin" else -1))
    return max(running)


def test_programs_that_take_longer_than_a_lease_keep_the_lock(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    source = slow_program(tmp_path, 1.0)
    users = [a_user(f"user-{number}", password=source) for number in range(8)]
    result = apply_to(cluster, tmp_path).plan(plan_users_on(cluster, *users))
    assert result.verdict.exit == 0, result.verdict
    assert len(users_of(cluster)) == 8
    assert most_at_once((tmp_path / "log").read_text()) == SHORT.parallelism


def test_an_interrupted_run_starts_no_more_programs(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    source = slow_program(tmp_path, 1.0)
    log = tmp_path / "log"
    users = [a_user(f"user-{number}", password=source) for number in range(40)]
    apply = apply_to(cluster, tmp_path, interrupted=lambda: 2 if log.exists() else None)
    result = apply.plan(plan_users_on(cluster, *users))
    assert result.verdict.exit is ExitCode.INTERRUPTED
    assert log.read_text().split().count("begin") < 20
    assert len(result.done) + len(result.not_attempted) == 40
    assert result.not_attempted


def test_a_user_that_was_changed_while_passwords_were_read_is_stale(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plan = plan_users_on(cluster, a_user("piped", password=PasswordSource(file="pipe")))

    def interfere() -> None:
        with pipe.open("wb") as writer:  # opens once the apply reads
            theirs = SaltedCredentialsRequest(
                user="piped",
                mechanism=ScramMechanism.SHA_512,
                iterations=4096,
                salted=salt(Secret(b"theirs"), ScramMechanism.SHA_512, 4096),
            )
            (answer,) = cluster.execute([theirs], validate_only=False, principal="User:other")
            assert answer.ok
            writer.write(b"word")

    other = threading.Thread(target=interfere)
    other.start()
    with pytest.raises(StaleError, match="piped"):
        apply_to(cluster, tmp_path).plan(plan)
    other.join()
    assert can_log_in(cluster, "piped", ScramMechanism.SHA_512, b"theirs")


def test_checks_that_take_longer_than_a_lease_keep_the_lock(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Policies judge again under the lock, and many of them take as long as they like."""
    calls: list[int] = []

    def judge(plan: Plan, pending: Collection[str], state: ClusterState) -> tuple[Reason, ...]:
        calls.append(len(pending))
        if len(calls) > 1:  # the lock is held
            time.sleep(SHORT.lease_ms / 1000 + 0.5)
        return ()

    apply = apply_to(cluster, tmp_path, recheck=judge)
    result = apply.plan(plan_users_on(cluster, a_topic()))
    assert result.verdict.exit == 0, result.verdict
    assert calls == [1, 1]
