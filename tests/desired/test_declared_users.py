"""Users in normal form; no finding about a password shows any of it."""

from pathlib import Path

import pytest
from manifests.loading import build, load, write
from msgspec.structs import replace

from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredCredential,
    DesiredUser,
    declared_object,
    last_applied,
)
from kgitops.model.resources.users import GeneratedPassword, PasswordSource, ScramMechanism

SHA_256, SHA_512 = ScramMechanism
HIDDEN = "hunter2-is-not-shown"


def document(spec: str, metadata: str = "{name: sales-app}") -> str:
    return f"apiVersion: kgitops/v1\nkind: User\nmetadata: {metadata}\nspec: {spec}\n"


def with_password(password: str) -> str:
    return document(f"{{scram: [{{mechanism: SCRAM-SHA-512, password: {password}}}]}}")


def built(folder: Path, *texts: str) -> tuple[DesiredUser, ...]:
    write(folder, {f"{index}.yaml": text for index, text in enumerate(texts)})
    return build(load(folder)).of(DesiredUser)


def findings(folder: Path, *texts: str) -> list[str]:
    """Of loading and of building."""
    write(folder, {f"{index}.yaml": text for index, text in enumerate(texts)})
    with pytest.raises(FindingsError) as raised:
        build(load(folder))
    return [str(finding) for finding in raised.value.findings]


def test_a_user_has_all_it_declares(tmp_path: Path) -> None:
    (user,) = built(
        tmp_path,
        document(
            "{scram: [{mechanism: SCRAM-SHA-512, iterations: 4096, password: {env: PW},"
            ' version: "2026-11"}, {mechanism: scram_sha_256, password: {command: [vault, get]}}],'
            " deletionPolicy: Orphan}",
            "{name: sales-app, virtualCluster: emea.sales, labels: {team: sales}}",
        ),
    )
    assert user == DesiredUser(
        address="user/sales-app",
        name="sales-app",
        credentials={
            SHA_256: DesiredCredential(
                iterations=8192, password=PasswordSource(command=("vault", "get"))
            ),
            SHA_512: DesiredCredential(
                iterations=4096, password=PasswordSource(env="PW"), version="2026-11"
            ),
        },
        virtual_cluster="emea.sales",
        deletion_policy=DeletionPolicy.ORPHAN,
        deletion_policy_written=True,
        labels={"team": "sales"},
        located=user.located,
    )
    assert list(user.credentials) == [SHA_256, SHA_512]
    assert declared_object(user.address, last_applied(user), user.located) == replace(
        user, labels={}
    )


@pytest.mark.parametrize(
    ("password", "source"),
    [
        ("{file: run/pw}", PasswordSource(file="run/pw")),
        ("{file: 'of $${env:ME}'}", PasswordSource(file="of ${env:ME}")),
        ("{command: [get, '$${env:ME}']}", PasswordSource(command=("get", "${env:ME}"))),
        ("{unknown: true}", PasswordSource()),
        (
            "{generate: {length: 40, to: {file: out}}}",
            PasswordSource(generate=GeneratedPassword(length=40, file="out")),
        ),
        (
            "{generate: {to: {command: [put]}}}",
            PasswordSource(generate=GeneratedPassword(length=32, command=("put",))),
        ),
    ],
)
def test_a_password_may_come_from_many_places(
    tmp_path: Path, password: str, source: PasswordSource
) -> None:
    (user,) = built(tmp_path, with_password(password))
    assert user.credentials[SHA_512].password == source
    assert source.known is ("unknown" not in password)


@pytest.mark.parametrize(
    "password",
    [
        HIDDEN,
        f'"{HIDDEN}"',
        f"[{HIDDEN}]",
        f"{{value: {HIDDEN}}}",
        f"{{env: [{HIDDEN}]}}",
        f"{{file: {{x: {HIDDEN}}}}}",
        f"{{env: {HIDDEN}}}",
        f"{{command: {HIDDEN}}}",
        f"{{unknown: {HIDDEN}}}",
        f"{{generate: {HIDDEN}}}",
        f"{{generate: {{to: {HIDDEN}}}}}",
        f"{{generate: {{length: {HIDDEN}, to: {{file: x}}}}}}",
    ],
)
def test_a_password_in_a_document_is_refused_and_not_shown(tmp_path: Path, password: str) -> None:
    (said,) = findings(tmp_path, with_password(password))
    assert "password" in said
    assert HIDDEN not in said
    assert "0.yaml:4:" in said


@pytest.mark.parametrize(
    "password",
    [
        "${env:PW}",
        "{env: '${env:PW}'}",
        "{file: '${env:PW}'}",
        "{command: [get, 'of $${env:ME} ${env:PW}']}",
        "{generate: {to: {file: '${env:PW:-x}'}}}",
        "{generate: {to: {command: [keep, '${env:PW}']}}}",
    ],
)
def test_the_value_of_a_variable_does_not_get_into_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    write(tmp_path, {"0.yaml": with_password(password)})
    with pytest.raises(FindingsError) as raised:
        build(load(tmp_path, env={"PW": HIDDEN}))
    (said,) = [str(finding) for finding in raised.value.findings]
    assert HIDDEN not in said


@pytest.mark.parametrize("source", ["{command: [get, !e!str '${env:PW}']}", "{file: !e!str x}"])
def test_what_cannot_be_read_as_it_is_written_is_refused(tmp_path: Path, source: str) -> None:
    """A document that depends on its %TAG is not found again in its file."""
    text = f"%TAG !e! tag:yaml.org,2002:\n---\n{with_password(source)}"
    write(tmp_path, {"0.yaml": text})
    with pytest.raises(FindingsError) as raised:
        build(load(tmp_path, env={"PW": HIDDEN}))
    (said,) = [str(finding) for finding in raised.value.findings]
    assert "without %TAG" in said
    assert HIDDEN not in said


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{scram: []}", "spec.scram must not be empty"),
        ("{}", "spec.scram is missing"),
        (
            "{scram: [{mechanism: SCRAM-SHA-512, iterations: 4095, password: {env: A}}]}",
            "must be a whole number from 4096 to 16384, not 4095",
        ),
        (
            "{scram: [{mechanism: SCRAM-SHA-512, iterations: 16385, password: {env: A}}]}",
            "must be a whole number from 4096 to 16384, not 16385",
        ),
        (
            "{scram: [{mechanism: PLAIN, password: {env: A}}]}",
            "must be one of SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            "{scram: [{mechanism: SCRAM-SHA-512, password: {env: A}},"
            " {mechanism: scram-sha-512, password: {env: A}}]}",
            "SCRAM-SHA-512 is declared twice",
        ),
        (
            "{scram: [{mechanism: SCRAM-SHA-512, password: {env: A, file: b}}]}",
            "has env and file",
        ),
        ("{scram: [{mechanism: SCRAM-SHA-512, password: {}}]}", "comes from nowhere"),
        ("{scram: [{mechanism: SCRAM-SHA-512}]}", "password is missing"),
        (
            "{scram: [{mechanism: SCRAM-SHA-512, password: {generate: {to: {}}}}]}",
            "a generated password goes to a file or to a command",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(tmp_path: Path, spec: str, said: str) -> None:
    (found,) = findings(tmp_path, document(spec))
    assert said in found


def test_an_empty_name_and_two_documents_of_one_user(tmp_path: Path) -> None:
    (empty,) = findings(tmp_path, document("{scram: []}", '{name: ""}'))[:1]
    assert "metadata.name must not be empty" in empty
    twice = with_password("{env: A}")
    inside = twice.replace("sales-app}", "sales-app, virtualCluster: a.b}")
    (said,) = findings(tmp_path, twice, inside)
    assert "user/sales-app is declared already at" in said
