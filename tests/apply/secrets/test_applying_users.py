"""Applying users: passwords are read last, refused before anything is sent, and kept nowhere."""

import base64
import logging
import os
import threading
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, open_cluster, sealed_now
from apply.secrets.users_on_clusters import apply_users, can_log_in, plan_users_on
from builders import UID, a_topic, a_user
from msgspec.structs import replace
from used import users_of

from kgitops.apply.secrets import PasswordSettings
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.cluster_state import Capabilities, Client
from kgitops.model.errors import KgitopsError, SafetyError, UnreachableError, UntrustedPlanError
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request
from kgitops.model.resources.users import GeneratedPassword, PasswordSource, ScramMechanism
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import to_text
from kgitops.plan.document.plan import Plan

SHA_256, SHA_512 = ScramMechanism
WORD = "correct-horse-battery-staple"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALES_APP_PASSWORD", WORD)


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return open_cluster()


def altered(plan: Plan, **fields: object) -> Plan:
    """The plan with a request that says something else."""
    (change,) = plan.changes
    first, *rest = change.requests
    assert isinstance(first.request, AlterUserScramCredentialsRequest)
    changed = replace(first, request=replace(first.request, **fields))
    return replace(plan, changes=(replace(change, requests=(changed, *rest)),))


def test_a_user_is_made_changed_and_taken_away(cluster: EmbeddedCluster) -> None:
    apply = Apply(cluster=cluster)
    apply_users(apply, a_user(mechanisms=ScramMechanism), a_topic(), run_id="1")
    assert users_of(cluster) == {"sales-app": {SHA_256: 8192, SHA_512: 8192}}
    assert can_log_in(cluster, "sales-app", SHA_512, WORD.encode())
    assert can_log_in(cluster, "sales-app", SHA_256, WORD.encode())
    assert not plan_users_on(cluster, a_user(mechanisms=ScramMechanism), a_topic()).changes
    deleted = a_user(deletion_policy=DeletionPolicy.DELETE)
    for number, objects in enumerate(([deleted, a_topic()], [a_topic()]), start=2):
        plan = plan_users_on(cluster, *objects)
        sealed = sealed_now(plan, FakeClock(), f"nonce-{number}")
        assert apply.plan(sealed, str(number)).verdict.exit == 0
    assert users_of(cluster) == {}


def test_another_version_sets_the_password_that_is_there_now(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Apply(cluster=cluster)
    apply_users(apply, a_user(version="1"), run_id="1")
    monkeypatch.setenv("SALES_APP_PASSWORD", "another")
    assert not plan_users_on(cluster, a_user(version="1")).changes
    sealed = sealed_now(plan_users_on(cluster, a_user(version="2")), FakeClock(), "nonce-2")
    assert apply.plan(sealed, "2").verdict.exit == 0
    assert can_log_in(cluster, "sales-app", SHA_512, b"another")
    assert not can_log_in(cluster, "sales-app", SHA_512, WORD.encode())


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_password_is_refused_before_anything_is_sent(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    faulty = FaultyCluster(cluster)
    plan = plan_users_on(cluster, a_topic(), a_user())
    if value is None:
        monkeypatch.delenv("SALES_APP_PASSWORD")
    else:
        monkeypatch.setenv("SALES_APP_PASSWORD", value)
    with pytest.raises(KgitopsError, match="user/sales-app has no password") as raised:
        Apply(cluster=faulty).plan(plan)
    assert raised.value.exit is ExitCode.ERROR
    assert faulty.sent == []
    assert cluster.read_state().registry is None


def test_a_password_that_goes_while_the_run_is_under_way_fails_its_step_alone(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "pw"
    file.write_text(WORD)
    user = a_user(mechanisms=ScramMechanism, password=PasswordSource(file=str(file)))
    plan = plan_users_on(cluster, user)

    def lose(requests: list[Request]) -> None:
        file.unlink(missing_ok=True)

    faulty = FaultyCluster(cluster, after_send=lose)
    apply = Apply(cluster=faulty)
    result = apply.plan(plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert "was not sent" in str(result.verdict.reasons)
    assert users_of(cluster) == {"sales-app": {SHA_256: 8192}}
    file.write_text(WORD)
    resumed = apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit == 0
    assert can_log_in(cluster, "sales-app", SHA_512, WORD.encode())


def test_a_run_that_can_t_begin_has_replaced_no_generated_password(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """A pipe can't be looked at ahead; this one turns out to hold nothing."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "made").write_text("the one that is used")
    made = a_user("made", password=PasswordSource(generate=GeneratedPassword(file="made")))
    piped = a_user("piped", password=PasswordSource(file="pipe"))
    plan = plan_users_on(cluster, made, piped)
    may = PasswordSettings(base=tmp_path, may_act=True)
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"",))
    writer.start()
    with pytest.raises(KgitopsError, match="holds no password"):
        Apply(cluster=cluster, passwords=may).plan(plan)
    writer.join()
    assert (tmp_path / "made").read_text() == "the one that is used"
    assert users_of(cluster) == {}


def test_nothing_that_is_written_shown_or_said_holds_the_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = open_cluster(tmp_path / "store.db")
    sent: list[Request] = []
    faulty = FaultyCluster(cluster, before_send=sent.extend)
    apply = Apply(cluster=faulty)
    plan = apply_users(apply, a_user(mechanisms=ScramMechanism))
    written = to_text(sealed_now(plan, FakeClock()))
    salted = [request.salted.reveal() for request in sent]  # type: ignore[union-attr]
    assert len(salted) == 2
    assert len({salt for salt, _ in salted}) == 2
    assert all(len(salt) >= 16 for salt, _ in salted)
    registry = cluster.registry.read()
    cluster.close()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    said = "\n".join(
        (written, repr(plan), repr(registry), repr(apply.events), repr(sent), caplog.text)
    )
    for _, secret in salted:
        for form in forms(secret):
            assert form not in stored
            assert form not in said.encode()
    for form in forms(WORD.encode()):
        assert form not in stored
        assert form not in said.encode()


def forms(secret: bytes) -> list[bytes]:
    """The secret as it might be written."""
    return [secret, secret.hex().encode(), base64.b64encode(secret), base64.b85encode(secret)]


# Where there was no answer


def test_a_password_that_may_have_been_set_is_set_again(cluster: EmbeddedCluster) -> None:
    answers: list[int] = []

    def lose_the_first(requests: list[Request]) -> None:
        answers.append(len(requests))
        if len(answers) == 1:
            raise UnreachableError("the answer was lost")

    faulty = FaultyCluster(cluster, after_send=lose_the_first)
    apply = Apply(cluster=faulty)
    result = apply.plan(plan_users_on(cluster, a_user()))
    assert result.verdict.exit == 0
    salts = [request.salted.reveal()[0] for request in faulty.sent]  # type: ignore[union-attr]
    assert len(set(salts)) == 2
    assert can_log_in(cluster, "sales-app", SHA_512, WORD.encode())


def test_a_mechanism_that_somebody_else_changed_meanwhile_is_a_conflict(
    cluster: EmbeddedCluster,
) -> None:
    apply = Apply(cluster=cluster)
    apply_users(apply, a_user(iterations=4096), run_id="1")
    plan = plan_users_on(cluster, a_user(iterations=8192))
    theirs = plan_users_on(cluster, a_user(iterations=16384))
    assert apply.plan(sealed_now(theirs, FakeClock(), "nonce-2"), "2").verdict.exit == 0
    with pytest.raises(KgitopsError, match=r"scram.SCRAM-SHA-512.iterations") as raised:
        apply.plan(sealed_now(plan, FakeClock(), "nonce-3"), "3")
    assert raised.value.exit is ExitCode.STALE


# What an apply refuses, whatever the plan says


class Elsewhere:
    """The cluster as another connection sees it."""

    def __init__(self, real: EmbeddedCluster, capabilities: Capabilities) -> None:
        self._real, self.capabilities = real, capabilities

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def test_a_connection_without_tls_needs_a_flag(cluster: EmbeddedCluster) -> None:
    plan = plan_users_on(cluster, a_user())
    public = Elsewhere(cluster, replace(cluster.capabilities, private=False))
    with pytest.raises(SafetyError, match="--allow-plaintext-secrets"):
        Apply(cluster=public).plan(plan)  # type: ignore[arg-type]
    assert users_of(cluster) == {}
    allowed = PasswordSettings(allow_plaintext=True)
    result = Apply(cluster=public, passwords=allowed).plan(plan)  # type: ignore[arg-type]
    assert result.verdict.exit == 0


def test_a_saved_plan_starts_no_program_unless_it_may(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    generated = PasswordSource(generate=GeneratedPassword(file="out"))
    for source in (generated, PasswordSource(command=("touch", "started"))):
        plan = plan_users_on(cluster, a_user(password=source))
        with pytest.raises(SafetyError, match="--allow-secret-commands"):
            Apply(cluster=cluster, passwords=PasswordSettings(base=tmp_path)).plan(plan)
    assert list(tmp_path.iterdir()) == []
    plan = plan_users_on(cluster, a_user(password=generated))
    may = PasswordSettings(base=tmp_path, may_act=True)
    assert Apply(cluster=cluster, passwords=may).plan(plan).verdict.exit == 0
    assert can_log_in(cluster, "sales-app", SHA_512, (tmp_path / "out").read_bytes())


def test_whoever_applies_is_not_shut_out_by_a_plan_that_another_made(
    cluster: EmbeddedCluster,
) -> None:
    plan = plan_users_on(cluster, a_user())
    client = Client(client_id="kgitops", user="sales-app")
    own = Elsewhere(cluster, replace(cluster.capabilities, client=client))
    with pytest.raises(SafetyError, match="kgitops itself logs in as User:sales-app"):
        Apply(cluster=own).plan(plan)  # type: ignore[arg-type]
    assert users_of(cluster) == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"iterations": 4096},
        {"mechanism": SHA_256},
        {"password": PasswordSource(env="HOME")},
        {"password": None},
        {"iterations": None, "password": None},
        {"virtual_cluster": "emea.sales"},
        {"user": "another"},
    ],
    ids=str,
)
def test_a_request_that_says_more_than_its_declaration_is_refused(
    cluster: EmbeddedCluster, fields: dict[str, object]
) -> None:
    forged = altered(plan_users_on(cluster, a_user()), **fields)
    with pytest.raises((UntrustedPlanError, SafetyError)):
        Apply(cluster=cluster).plan(forged)
    assert users_of(cluster) == {}


def test_a_password_is_not_set_again_without_a_new_version(cluster: EmbeddedCluster) -> None:
    """The review of a change that only the registry records shows no request."""
    apply = Apply(cluster=cluster)
    apply_users(apply, a_user(version="1"), run_id="1")
    honest = plan_users_on(cluster, a_user(version="2"))
    quiet = plan_users_on(cluster, a_user(version="1", deletion_policy=DeletionPolicy.ORPHAN))
    (renewing,), (silent,) = honest.changes, quiet.changes
    forged = replace(quiet, changes=(replace(silent, requests=renewing.requests),))
    with pytest.raises(UntrustedPlanError, match="requests that do not follow"):
        apply.plan(sealed_now(forged, FakeClock(), "nonce-2"), "2")


def test_a_mechanism_that_is_still_declared_is_not_taken_away(cluster: EmbeddedCluster) -> None:
    apply = Apply(cluster=cluster)
    both = a_user(mechanisms=ScramMechanism)
    apply_users(apply, both, run_id="1")
    honest = plan_users_on(cluster, a_user())
    (change,) = honest.changes
    wider = plan_users_on(cluster, a_user(mechanisms=[SHA_256]))
    (other,) = wider.changes
    forged = replace(honest, changes=(replace(change, requests=other.requests),))
    with pytest.raises(UntrustedPlanError):
        apply.plan(sealed_now(forged, FakeClock(), "nonce-2"), "2")
    assert users_of(cluster) == {"sales-app": {SHA_256: 8192, SHA_512: 8192}}
