"""Users as a person manages them, and a search for passwords in all that commands wrote."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from apply.faults import FaultyCluster
from cli.conftest import Kgitops, Ran

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request

PASSWORD = "-".join(["correct", "horse", "battery", "staple"])
PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
spec:
  manifests: [manifests]
  clusters: {local: {url: "embedded:local.db", brokers: 3}}
"""
USER = """\
apiVersion: kgitops/v1
kind: User
metadata: {name: sales-app, labels: {team: sales}}
spec:
  scram:
    - mechanism: SCRAM-SHA-512
      iterations: 8192
      password: {env: SALES_APP_PASSWORD}
      version: "1"
"""
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec: {partitions: 1, replicationFactor: 1}
"""
STRONG = """\
apiVersion: kgitops/v1
kind: Policy
metadata: {name: strong-logins}
spec:
  description: Logins are SCRAM-SHA-512 with 8192 iterations.
  level: hard
  match: {requests: [AlterUserScramCredentials], names: ["sales-*"]}
  validations:
    - expression: "requested.iterations == null || requested.mechanism == 'SCRAM-SHA-512'"
      message: use SCRAM-SHA-512
    - expression: "requested.iterations == null || requested.iterations >= 8192"
      messageExpression: "requested.mechanism + ' has ' + string(requested.iterations)"
"""
SNEAKY = """\
import os

from kgitops.policy import PolicyViolation, UserManagementPolicy


class Sneaky(UserManagementPolicy):
    def validate_alter_user_scram_credentials(self, request, cluster_state):
        held = dict(cluster_state.user_credentials(request.user))
        raise PolicyViolation(
            f"{request.user} {request.mechanism} {request.iterations} {held} "
            f"{os.environ.get('SALES_APP_PASSWORD')} {request!r}"
        )
"""


@pytest.fixture
def project(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "manifests").mkdir()
    (here / "kgitops.yaml").write_text(PROJECT)
    (here / "manifests" / "user.yaml").write_text(USER)
    (here / "manifests" / "topic.yaml").write_text(TOPIC)
    monkeypatch.delenv("SALES_APP_PASSWORD", raising=False)
    return here


def ok(ran: Ran) -> Ran:
    assert ran.code == 0, ran
    return ran


def test_from_a_first_plan_to_the_last_removal(
    project: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans need no secret; whatever any command wrote or said is searched for one."""
    said: list[Ran] = []
    user = project / "manifests" / "user.yaml"

    def run(*words: object) -> Ran:
        said.append(kgitops("--log-level", "debug", *words))
        return said[-1]

    assert "KG310" in ok(run("plan", "-o", "plan.json")).out
    refused = run("apply", "plan.json")
    assert refused.code == 1
    assert "SALES_APP_PASSWORD is not set or empty; nothing was sent" in refused.err
    monkeypatch.setenv("SALES_APP_PASSWORD", PASSWORD)
    ok(run("apply", "plan.json", "--format", "json"))
    assert ok(run("plan")).out.count("No changes.") == 1
    user.write_text(USER.replace('"1"', '"2"').replace("8192", "16384"))
    for form in ("text", "json", "markdown", "html", "sarif", "junit", "github"):
        assert ok(run("plan", "--format", form, "--full")).out
    ok(run("apply", "--auto-approve"))
    ok(run("drift"))
    ok(run("snapshot", "-o", "snapshot.json"))
    assert json.loads((project / "snapshot.json").read_text())["users"] == {
        "sales-app": {"SCRAM-SHA-512": 16384}
    }
    assert "No changes." in ok(run("plan", "--snapshot", "snapshot.json")).out
    ok(run("diff", "snapshot.json", "snapshot.json"))
    ok(run("export", "-o", "exported"))
    ok(run("catalogue", "-o", "page"))
    ok(run("explain", "user/sales-app"))
    user.unlink()
    assert run("plan").code == 5
    tombstone = project / "manifests" / "gone.yaml"
    tombstone.write_text(
        "apiVersion: kgitops/v1\nkind: Tombstone\nmetadata: {name: gone}\n"
        "spec: {target: {kind: User, name: sales-app}, reason: the app is gone}\n"
    )
    assert "KG316" in ok(run("plan")).out
    ok(run("apply", "--auto-approve"))
    said_bytes = "".join(f"{ran.out}{ran.err}" for ran in said).encode()
    written = b"".join(file.read_bytes() for file in project.rglob("*") if file.is_file())
    for secret in (PASSWORD.encode(), base64.b64encode(PASSWORD.encode())):
        assert secret not in said_bytes
        assert secret not in written


def test_a_password_that_an_unfinished_apply_may_have_set_is_told(
    project: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mechanism is there and nothing else shows: a plan without a warning would adopt it."""

    def lose(requests: Sequence[Request]) -> None:
        if isinstance(requests[0], AlterUserScramCredentialsRequest):
            raise ZeroDivisionError("by design")

    def faulty(url: str, **options: Any) -> Cluster:  # noqa: ANN401 (of connect)
        return FaultyCluster(connect(url, **options), after_send=lose)

    doubt = "may have set the password of SCRAM-SHA-512, and this plan leaves it as it is"
    monkeypatch.setenv("SALES_APP_PASSWORD", PASSWORD)
    with monkeypatch.context() as broken:
        broken.setattr("kgitops.workflow.project.clusters.connect", faulty)
        assert kgitops("apply", "--auto-approve").code == 6
    assert doubt in ok(kgitops("plan")).out
    ok(kgitops("apply", "--resume"))
    assert doubt not in ok(kgitops("plan")).out
    ok(kgitops("drift", "--verify-users", "--detailed-exitcode"))

    renewed = USER.replace('"1"', '"2"')
    (project / "manifests" / "user.yaml").write_text(renewed)
    with monkeypatch.context() as broken:
        broken.setattr("kgitops.workflow.project.clusters.connect", faulty)
        assert kgitops("apply", "--auto-approve").code == 6
    assert doubt not in ok(kgitops("plan")).out, "it sets the password again by itself"


def test_an_export_plans_to_nothing(
    project: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALES_APP_PASSWORD", PASSWORD)
    ok(kgitops("apply", "manifests", "-c", "local", "--auto-approve"))
    (project / "kgitops.yaml").write_text(PROJECT.replace("6f1c0c5e", "7f1c0c5e"))
    (project / "kgitops.yaml").write_text(
        PROJECT.replace("name: payments", "name: other").replace("6f1c0c5e", "aaaaaaaa")
    )
    exported = kgitops("export", "-o", "exported")
    assert "which the project 'payments' manages" in exported.err
    (project / "kgitops.yaml").write_text(PROJECT)
    assert "nothing to change" in ok(kgitops("export", "-o", "again")).out
    (text,) = [file.read_text() for file in (project / "again").rglob("*user*")]
    assert "password: {env: SALES_APP_PASSWORD}" in text


def test_a_snapshot_without_users_can_t_be_planned_on(project: Path, kgitops: Kgitops) -> None:
    ok(kgitops("snapshot", "-o", "bare.json"))
    refused = kgitops("plan", "--snapshot", "bare.json")
    assert refused.code == 8
    assert "kgitops snapshot --users" in refused.err
    ok(kgitops("snapshot", "--users", "-o", "users.json"))
    ok(kgitops("plan", "--snapshot", "users.json"))


def test_policies_in_both_forms_judge_users(
    project: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "manifests" / "policy.yaml").write_text(STRONG)
    ok(kgitops("plan"))
    weak = USER.replace("8192", "4096").replace("SHA-512", "SHA-256")
    (project / "manifests" / "user.yaml").write_text(weak)
    denied = kgitops("plan")
    assert denied.code == 3
    assert "use SCRAM-SHA-512" in denied.out
    assert "SCRAM-SHA-256 has 4096" in denied.out
    (project / "manifests" / "user.yaml").write_text(USER)
    (project / "rules.py").write_text(SNEAKY)
    (project / "kgitops.yaml").write_text(f'{PROJECT}  policies: [{{class: "rules:Sneaky"}}]\n')
    monkeypatch.setenv("SALES_APP_PASSWORD", PASSWORD)
    for words in (["plan", "-o", "plan.json"], ["apply", "--auto-approve"]):
        denied = kgitops(*words)
        assert denied.code == 3
        assert "sales-app SCRAM-SHA-512 8192 {} None" in denied.out
        assert PASSWORD not in denied.out + denied.err


CASES = """\
apiVersion: kgitops/v1
kind: PolicyTest
metadata: {name: logins}
spec:
  policy: strong-logins
  cases:
    - name: weak ones are denied
      requests:
        - alterUserScramCredentials: {name: sales-app, mechanism: SCRAM-SHA-256, iterations: 8192}
        - alterUserScramCredentials: {name: sales-app, mechanism: SCRAM-SHA-512, iterations: 4096}
      expect:
        - {address: user/sales-app, message: "^use SCRAM-SHA-512$"}
        - {address: user/sales-app, message: "^SCRAM-SHA-512 has 4096$"}
    - name: taking away is fine, and so are others
      cluster: {users: {sales-app: [{mechanism: SCRAM-SHA-256}]}}
      requests:
        - alterUserScramCredentials: {name: sales-app, mechanism: SCRAM-SHA-256}
        - alterUserScramCredentials: {name: other, mechanism: SCRAM-SHA-256, iterations: 4096}
"""


def test_policy_tests_know_users(project: Path, kgitops: Kgitops) -> None:
    (project / "kgitops.yaml").write_text(f"{PROJECT}  policies: [policies]\n")
    (project / "policies").mkdir()
    (project / "policies" / "policy.yaml").write_text(STRONG)
    cases = project / "policies" / "cases.yaml"
    cases.write_text(CASES)
    ok(kgitops("policy", "test"))
    cases.write_text(CASES.replace("users: {sales-app", "users: {somebody"))
    missing = kgitops("policy", "test")
    assert missing.code == 1
    assert "the user sales-app has no SCRAM-SHA-256 at this point" in missing.said


def test_a_program_is_started_by_manifests_and_by_a_flag_alone(
    project: Path, kgitops: Kgitops
) -> None:
    printing = f"{{command: [printf, '%s', {PASSWORD}]}}"
    (project / "manifests" / "user.yaml").write_text(
        USER.replace("{env: SALES_APP_PASSWORD}", printing)
    )
    ok(kgitops("plan", "-o", "plan.json"))
    refused = kgitops("apply", "plan.json")
    assert refused.code == 5
    assert "--allow-secret-commands" in refused.err
    ok(kgitops("apply", "plan.json", "--allow-secret-commands"))
    (project / "manifests" / "user.yaml").write_text(
        USER.replace("{env: SALES_APP_PASSWORD}", printing).replace('"1"', '"2"')
    )
    ok(kgitops("apply", "--auto-approve"))


def test_passwords_are_verified_by_logging_in(
    project: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = ("drift", "--verify-users", "--detailed-exitcode")
    early = ok(kgitops(*verify))
    assert "was not verified: what is declared was not applied yet" in early.out
    monkeypatch.setenv("SALES_APP_PASSWORD", PASSWORD)
    ok(kgitops("apply", "--auto-approve"))
    ok(kgitops(*verify))
    monkeypatch.setenv("SALES_APP_PASSWORD", "another")
    ok(kgitops("drift", "--detailed-exitcode"))
    changed = kgitops(*verify)
    assert changed.code == 2
    assert "does not log in; change version to set it again" in changed.out
    rows = json.loads(kgitops(*verify, "--format", "json").out)["drift"]
    assert [(row["path"], row["rule"]) for row in rows] == [
        ("scram.SCRAM-SHA-512.password", "login")
    ]
    assert rows[0]["by"], "the log has who set the password last"
    monkeypatch.delenv("SALES_APP_PASSWORD")
    missing = kgitops(*verify)
    assert missing.code == 1
    assert "SALES_APP_PASSWORD is not set or empty" in missing.err
    unknown = USER.replace("{env: SALES_APP_PASSWORD}", "{unknown: true}")
    (project / "manifests" / "user.yaml").write_text(unknown)
    assert "its password has no source" in ok(kgitops(*verify)).out
