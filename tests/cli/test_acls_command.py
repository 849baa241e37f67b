"""kafka-acls, flag for flag, with the virtual clusters that KIP-1134 gives it."""

import json
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran

from kgitops.cluster.connect import connect
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address

Acls = Callable[[str], Ran]


@pytest.fixture(params=["", "?virtual.clusters=lowered"], ids=["native", "lowered"])
def url(request: pytest.FixtureRequest) -> str:
    return f"embedded:acls.db{request.param}"


@pytest.fixture
def acls(kgitops: Kgitops, url: str) -> Acls:
    return lambda words: kgitops("acls", *shlex.split(words), "--bootstrap-server", url)


def bindings(url: str) -> frozenset[AclBinding]:
    with closing(connect(url, base=Path())) as cluster:
        return cluster.read_state().acls


def addresses(url: str) -> list[str]:
    return sorted(map(acl_address, bindings(url)))


KIP = (
    "--allow-principal User:Bob --allow-principal User:Alice --allow-host 198.51.100.0"
    " --allow-host 198.51.100.1 --operation Read --operation Write --topic Test-topic"
    " --virtual-cluster com.mycompany.eu"
)


@pytest.mark.usefixtures("here")
def test_the_kips_four_examples(acls: Acls, kgitops: Kgitops, url: str) -> None:
    """VC-143, VC-144, VC-198, VC-199, VC-280: add, add by prefixes, list, remove."""
    made = kgitops("vc", "create", "--virtual-cluster", "com.mycompany.eu", "-c", url)
    assert made.code == 0
    first = acls(f"--add {KIP} --virtual-cluster-pattern-type literal")
    assert first.code == 0, first.said
    assert addresses(url) == sorted(
        f"vc/com.mycompany.eu/acl/User:{name}/Allow/{operation}/topic/literal/Test-topic@{host}"
        for name in ("Alice", "Bob")
        for operation in ("Read", "Write")
        for host in ("198.51.100.0", "198.51.100.1")
    )
    second = acls(
        "--add --allow-principal User:Jane --producer --topic Test-"
        " --resource-pattern-type prefixed --virtual-cluster com.mycompany.eu."
        " --virtual-cluster-pattern-type prefixed"
    )
    assert second.code == 0, second.said
    of_jane = [
        f"vc/prefixed:com.mycompany.eu./acl/User:Jane/Allow/{operation}/topic/prefixed/Test-@*"
        for operation in ("Create", "Describe", "Write")
    ]
    assert [it for it in addresses(url) if "Jane" in it] == of_jane
    listed = acls("--list --virtual-cluster com.mycompany.eu").out
    assert listed.count("User:Bob") == 4
    assert "Jane" not in listed
    removed = acls(f"--remove {KIP}")
    assert removed.code == 0, removed.said
    assert addresses(url) == of_jane
    assert acls("--list --virtual-cluster com.mycompany.eu").out == "There are no such ACLs.\n"
    assert "Jane" in acls("--list --virtual-cluster com.mycompany.eu.uk").out


@pytest.mark.usefixtures("here")
def test_both_names_of_the_flag_mean_the_same(acls: Acls, url: str) -> None:
    """VC-199."""
    words = "--allow-principal User:a --operation Read --topic t --virtual-cluster v."
    assert acls(f"--add {words} --virtual-cluster-resource-pattern-type prefixed").code == 0
    again = acls(f"--add {words} --virtual-cluster-pattern-type prefixed")
    assert (again.code, "there already" in again.out) == (0, True)
    assert len(bindings(url)) == 1


@pytest.mark.usefixtures("here")
def test_kafka_cluster_is_no_virtual_cluster(acls: Acls, url: str) -> None:
    """VC-100: named or not, the ACL is global."""
    words = "--allow-principal User:a --operation Read --topic t"
    assert acls(f"--add {words} --virtual-cluster kafka-cluster").code == 0
    assert addresses(url) == ["acl/User:a/Allow/Read/topic/literal/t@*"]
    assert "already" in acls(f"--add {words}").out


@pytest.mark.usefixtures("here")
def test_the_right_to_administer_names_the_virtual_cluster_itself(acls: Acls, url: str) -> None:
    """VC-140, VC-141: of the resource CLUSTER the virtual cluster is the name."""
    words = (
        "--allow-principal User:admin --operation AlterVirtualCluster --cluster-resource"
        " --virtual-cluster emea"
    )
    assert acls(f"--add {words}").code == 0
    assert addresses(url) == ["acl/User:admin/Allow/AlterVirtualCluster/cluster/literal/emea@*"]
    assert "User:admin" in acls("--list --virtual-cluster emea").out
    assert acls(f"--remove {words}").code == 0
    assert addresses(url) == []


@pytest.mark.usefixtures("here")
def test_a_scope_is_never_crossed_by_a_removal(acls: Acls, kgitops: Kgitops, url: str) -> None:
    """VC-108, VC-143: the same names elsewhere are other ACLs."""
    for name in ("a", "a.b"):
        assert kgitops("vc", "create", "--virtual-cluster", name, "-c", url).code == 0
    words = "--allow-principal User:a --operation Read --topic t"
    scopes = ("", "--virtual-cluster a", "--virtual-cluster a.b")
    for scope in scopes:
        assert acls(f"--add {words} {scope}").code == 0
    assert acls("--remove --topic t --virtual-cluster a").code == 0
    assert addresses(url) == [
        "acl/User:a/Allow/Read/topic/literal/t@*",
        "vc/a.b/acl/User:a/Allow/Read/topic/literal/t@*",
    ]
    assert acls("--remove --topic t").code == 0
    assert addresses(url) == ["vc/a.b/acl/User:a/Allow/Read/topic/literal/t@*"]


@pytest.mark.usefixtures("here")
def test_roles_hosts_denials_and_patterns_are_kafkas(acls: Acls, url: str) -> None:
    assert acls("--add --allow-principal User:c --consumer --topic t --group g").code == 0
    assert acls("--add --deny-principal User:d --deny-host 10.0.0.1 --topic t").code == 0
    assert addresses(url) == [
        "acl/User:c/Allow/Describe/topic/literal/t@*",
        "acl/User:c/Allow/Read/group/literal/g@*",
        "acl/User:c/Allow/Read/topic/literal/t@*",
        "acl/User:d/Deny/All/topic/literal/t@10.0.0.1",
    ]
    listed = acls("--list --topic t --format json").out.splitlines()
    assert {json.loads(line)["principal"] for line in listed} == {"User:c", "User:d"}
    assert "User:d" not in acls("--list --principal User:c").out
    assert acls("--add --allow-principal User:p --operation Read --topic ta --topic t"
                " --resource-pattern-type prefixed").code == 0  # fmt: skip
    matching = acls("--list --topic table --resource-pattern-type match").out
    assert matching.count("User:p") == 2
    assert "User:c" not in matching


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--topic t", "one of --add, --remove and --list"),
        ("--add --list --topic t", "one of --add"),
        ("--add --topic t", "--allow-principal"),
        ("--add --allow-principal User:a", "a resource"),
        ("--add --allow-principal a --topic t", "not a principal"),
        ("--add --allow-principal User:a --topic t --operation Fly", "Fly"),
        ("--add --allow-principal User:a --topic t --operation ClusterAction", "not an operation"),
        ("--add --allow-principal User:a --topic t --resource-pattern-type any", "finds ACLs"),
        ("--add --allow-principal User:a --consumer --topic t", "--group"),
        ("--add --allow-principal User:a --idempotent --topic t", "--producer"),
        ("--add --allow-principal User:a --topic t --virtual-cluster-pattern-type literal",
         "--virtual-cluster"),
        ("--list --virtual-cluser a", "did you mean"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_wrong_words_change_nothing(words: str, said: str, acls: Acls, url: str) -> None:
    ran = acls(words)
    assert (ran.code, said in ran.err) == (64, True), ran.said
    assert bindings(url) == frozenset()


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
