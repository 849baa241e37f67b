"""kafka-acls, flag for flag, with the virtual clusters that KIP-1134 gives it."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran

Acls = Callable[[str], Ran]


@pytest.fixture(params=["", "?virtual.clusters=lowered"], ids=["native", "lowered"])
def url(request: pytest.FixtureRequest) -> str:
    return f"embedded:acls.db{request.param}"


@pytest.fixture
def acls(kgitops: Kgitops, url: str) -> Acls:
    return lambda words: kgitops("acls", *shlex.split(words), "--bootstrap-server", url)


@pytest.mark.usefixtures("here")
def test_a_java_clients_properties_are_understood(here: Path, acls: Acls) -> None:
    """--command-config, as Kafka's own tools take it; no line of it is ever shown."""
    from kgitops.workflow.project.java_properties import read_client_properties

    file = here / "client.properties"
    file.write_text(
        "# admin\nbootstrap.servers=x:1\nsecurity.protocol: SASL_SSL\n"
        "sasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain."
        'PlainLoginModule required \\\n  username="me" password="p\\"w=1";\n'
        "ssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\n"
    )
    assert read_client_properties(file) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'p"w=1',
        "ssl.ca.location": "/ca.pem",
    }
    for wrong in ("missing.properties", here):
        assert acls(f"--list --command-config {wrong}").code == 64
    file.write_text("password-without-a-name\n")
    ran = acls("--list --command-config client.properties")
    assert (ran.code, "password-without" in ran.said) == (64, False)


def test_a_java_client_of_amazon_msk_is_understood(tmp_path: Path) -> None:
    from kgitops.cluster.kafka.configs.client_configs import normalize_configs
    from kgitops.workflow.project.java_properties import read_client_properties

    file = tmp_path / "client.properties"
    module = "software.amazon.msk.auth.iam.IAMLoginModule"
    handler = "sasl.client.callback.handler.class=software.amazon.msk.auth.iam"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n"
        f"sasl.jaas.config={module} required;\n{handler}.IAMClientCallbackHandler\n"
    )
    plain = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    assert read_client_properties(file) == plain
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n"
        f'sasl.jaas.config={module} required awsRoleArn="arn:aws:iam::1:role/x" '
        'awsRoleSessionName="ci";\n'
    )
    configs = read_client_properties(file)
    assert configs == plain | {
        "sasl.oauthbearer.config": "awsRoleArn=arn:aws:iam::1:role/x,awsRoleSessionName=ci"
    }
    assert normalize_configs(configs)
