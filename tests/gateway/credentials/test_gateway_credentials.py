"""The file of clients' credentials: what it may say, and what is wrong with it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from cluster.kafka.certificates import Authority

from kgitops.gateway.credentials.credential import NoCredentialError
from kgitops.gateway.credentials.credentials_file import CredentialsFile
from kgitops.gateway.credentials.reading import CredentialsSource
from kgitops.model.errors import KgitopsError
from kgitops.serve.listening.reading_logins import parse_principal_rules
from kgitops.serve.listening.settings import PrincipalRule

GUIDE = (Path(__file__).parents[3] / "docs/guides/gateway.md").read_text()
SECRET = "7-orders-pass"  # noqa: S105 (a test's)
ORDERS = "User:CN=orders"
LOGIN = "{sasl.mechanism: PLAIN, sasl.username: orders-app, sasl.password: '${env:ORDERS}'}"
SASL: Mapping[str, str] = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "gateway",
    "sasl.password": "of-the-gateway",
}
TLS: Mapping[str, str] = {
    "security.protocol": "ssl",
    "ssl.certificate.location": "/gateway.pem",
    "ssl.key.location": "/gateway.pem",
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


def read(
    folder: Path,
    text: str,
    cluster: Mapping[str, str] = SASL,
    rules: tuple[PrincipalRule, ...] = (PrincipalRule(),),
) -> CredentialsFile:
    file = folder / "clients.yaml"
    file.write_text(text)
    return CredentialsFile(CredentialsSource(file, cluster, {"ORDERS": SECRET}, rules))


def test_a_user_of_sasl(tmp_path: Path) -> None:
    found = read(tmp_path, f"{ORDERS}: {LOGIN}").get(ORDERS)
    assert found
    assert found.user
    assert (found.principal, found.user.mechanism, found.user.name, found.user.password) == (
        "User:orders-app",
        "PLAIN",
        "orders-app",
        SECRET,
    )
    assert found.tls is None
    assert SECRET not in repr(found)


def test_a_certificate(tmp_path: Path, authority: Authority) -> None:
    """The principal is what the brokers' rules make of it."""
    certificate = authority.signs("orders-app")
    rules = parse_principal_rules("RULE:^CN=(.*)$/$1/U", pytest.fail)
    text = f"{ORDERS}: {{ssl.certificate.location: {certificate}, ssl.key.location: {certificate}}}"
    found = read(tmp_path, text, TLS, rules).get(ORDERS)
    assert found
    assert (found.principal, found.user) == ("User:ORDERS-APP", None)
    assert found.tls


def test_the_example_of_the_guide(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(\"User:.*?)```", GUIDE, re.DOTALL)
    file = tmp_path / "credentials.yaml"
    file.write_text(block)
    environ = {"ORDERS_PASSWORD": "one", "BILLING_PASSWORD": "two"}
    found = CredentialsSource(file, SASL, environ, (PrincipalRule(),)).read().by_principal
    assert {key: value.principal for key, value in found.items()} == {
        "User:CN=orders,O=Example": "User:orders-app",
        "User:CN=billing,O=Example": "User:billing",
    }


WRONG = {
    "": "the file is empty",
    "[1]": "is not one mapping from principals to configs",
    "{a: ": "clients.yaml:1:",
    f"{ORDERS}: {LOGIN}\n{ORDERS}: {LOGIN}": "clients.yaml:2:1: ",
    f"CN=orders: {LOGIN}": "clients.yaml:1:1: 'CN=orders' is not the principal of a certificate",
    f"{ORDERS}: p4711": "User:CN=orders has no mapping of configs",
    f"{ORDERS}: {{}}": "has no mapping of configs",
    f"{ORDERS}: {{sasl.user: x}}": "sasl.user is none of the configs of a login; use ssl.",
    f"{ORDERS}: {{bootstrap.servers: x}}": "bootstrap.servers is none of the configs",
    f"{ORDERS}: {{sasl.mechanism: PLAIN, sasl.username: a, sasl.password: 4711}}": (
        "sasl.password is not a text; put it in quotes"
    ),
    f"{ORDERS}: {{sasl.mechanism: PLAIN, sasl.username: a, sasl.password: '${{env:NONE}}'}}": (
        "${env:NONE} has no value; set the environment variable NONE"
    ),
    f"{ORDERS}: {{sasl.username: a, sasl.password: b}}": "needs sasl.mechanism",
    f"{ORDERS}: {{sasl.mechanism: PLAIN, sasl.username: a}}": "needs sasl.password",
    f"{ORDERS}: {{sasl.mechanism: OAUTHBEARER}}": "OAUTHBEARER",
    f"{ORDERS}: {{sasl.mechanism: PLAIN, sasl.username: a, sasl.password: b, "
    "ssl.certificate.location: none.pem, ssl.key.location: none.pem}": "none.pem: no such file",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(KgitopsError) as raised:
        read(tmp_path, text)
    assert WRONG[text] in str(raised.value)
    assert "4711" not in str(raised.value)


def test_what_brokers_do_not_ask_for(tmp_path: Path, authority: Authority) -> None:
    """A password where they want a certificate, a certificate where they want a login."""
    certificate = authority.signs("only")
    with_certificate = (
        f"{ORDERS}: {{ssl.certificate.location: {certificate}, ssl.key.location: {certificate}}}"
    )
    for text, cluster, sentence in (
        (f"{ORDERS}: {LOGIN}", TLS, "security.protocol=ssl sends no credentials"),
        (f"{ORDERS}: {LOGIN}", {}, "the cluster's security.protocol is plaintext"),
        (with_certificate, SASL, "needs sasl.mechanism"),
        (f"{ORDERS}: {{ssl.key.password: x}}", TLS, "set ssl.certificate.location"),
    ):
        with pytest.raises(KgitopsError, match=sentence):
            read(tmp_path, text, cluster)


def test_all_problems_are_told(tmp_path: Path) -> None:
    with pytest.raises(KgitopsError) as raised:
        read(tmp_path, "User:CN=a: {sasl.user: x}\nUser:CN=b: {sasl.user: x}\n")
    assert [line.split(":")[1] for line in str(raised.value).splitlines()] == ["1", "2"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    source = CredentialsSource(tmp_path / "none.yaml", SASL, {}, (PrincipalRule(),))
    with pytest.raises(KgitopsError, match=r"--client-credentials .*none\.yaml can't be read"):
        CredentialsFile(source)


def test_it_is_read_again(tmp_path: Path) -> None:
    """A file that can't be used leaves the one before."""
    told: list[str] = []
    credentials = read(tmp_path, f"{ORDERS}: {LOGIN}")
    file = tmp_path / "clients.yaml"
    assert not credentials.look(told.append)
    file.write_text("{")
    assert not credentials.look(told.append)
    assert "the credentials before go on" in told[-1]
    assert credentials.get(ORDERS)
    assert not credentials.look(told.append)
    file.write_text(f"User:CN=other: {LOGIN}")
    os.utime(file, ns=(1, 1))
    assert credentials.look(told.append)
    assert "were read again" in told[-1]
    assert credentials.get(ORDERS) is None
    with pytest.raises(NoCredentialError, match="it shows no certificate"):
        credentials.find(None)
