"""A process killed at any boundary of an apply of users, then resumed: the passwords hold."""

from pathlib import Path

import pytest
from apply.crash_driver import kill_everywhere
from apply.faults import FakeClock
from apply.plans import Apply, open_cluster, sealed_now
from apply.secrets.users_on_clusters import apply_users, can_log_in, plan_users_on
from builders import UID, a_user
from used import users_of

from kgitops.apply.journal.reading import latest_values
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.reading import read_plan

SHA_256, SHA_512 = ScramMechanism
OLD, NEW = b"the old word", b"the new word"
BEFORE = (
    a_user("renewed", version="1"),
    a_user("swung", mechanisms=[SHA_256]),
    a_user("gone", mechanisms=ScramMechanism, deletion_policy=DeletionPolicy.DELETE),
)
AFTER = (
    a_user("renewed", version="2"),
    a_user("swung", mechanisms=[SHA_512]),
    a_user("made", mechanisms=ScramMechanism),
)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedPlan:
    monkeypatch.setenv("SALES_APP_PASSWORD", OLD.decode())
    cluster = open_cluster(tmp_path / "store.db")
    apply_users(Apply(cluster=cluster), *BEFORE, run_id="run-0")
    sealed = sealed_now(plan_users_on(cluster, *AFTER), FakeClock(), "nonce-2")
    cluster.close()
    (tmp_path / "plan.json").write_text(to_text(sealed))
    monkeypatch.setenv("SALES_APP_PASSWORD", NEW.decode())
    return sealed


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_at_any_boundary_then_a_resume_sets_every_password(
    tmp_path: Path, prepared: SealedPlan, times: int
) -> None:
    boundaries = kill_everywhere(tmp_path, times)
    for boundary in range(boundaries):
        clock = FakeClock(ahead_s=3600)
        cluster = open_cluster(tmp_path / f"{boundary}.db", clock)
        apply = Apply(cluster=cluster, clock=clock)
        result = apply.resume(UID)
        begun = f"nonce/{prepared.nonce}" in latest_values(cluster.registry.read() or ())
        if result is None and not begun:
            result = apply.plan(read_plan((tmp_path / "plan.json").read_text(), "plan.json"))
        if result is not None:
            assert result.verdict.exit == ExitCode.SUCCESS, (boundary, result)
        check(cluster, boundary)
        cluster.close()
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert OLD not in content
        assert NEW not in content


def check(cluster: EmbeddedCluster, boundary: int) -> None:
    """Every password is the new one, and the registry knows all of it."""
    assert users_of(cluster) == {
        "made": {SHA_256: 8192, SHA_512: 8192},
        "renewed": {SHA_512: 8192},
        "swung": {SHA_512: 8192},
    }, boundary
    for user, mechanisms in users_of(cluster).items():
        for mechanism in mechanisms:
            assert can_log_in(cluster, user, mechanism, NEW), (boundary, user)
    assert not plan_users_on(cluster, *AFTER).changes, boundary
