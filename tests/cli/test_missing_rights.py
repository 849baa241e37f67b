"""A plan that lacks rights: one sentence with the principal, all of them, and their page."""

import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, topic

from kgitops import testing
from kgitops.model.registry import Json
from kgitops.testing import ClusterForTests

LOGIN = {
    "listeners": "SASL_PLAINTEXT://:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_root="root-secret" user_jane="jane-secret";'
    ),
    "super.users": "User:root",
}
REGISTRY = "--operation Read --topic __kgitops"
SEE_CLUSTER = "--operation Describe --cluster-resource"


@pytest.mark.parametrize(
    ("given", "grant"),
    [
        (
            (),
            "Read on __kgitops, Describe on the cluster, DescribeConfigs on the cluster, Describe "
            "on all topics and DescribeConfigs on all topics",
        ),
        (
            (REGISTRY,),
            "Describe on the cluster, DescribeConfigs on the cluster and DescribeConfigs on all "
            "topics",
        ),
        (
            (REGISTRY, SEE_CLUSTER, "--operation DescribeConfigs --topic '*'"),
            "DescribeConfigs on the cluster",
        ),
    ],
    ids=["all", "some", "one"],
)
@pytest.mark.parametrize("command", ["plan", "drift"])
def test_one_sentence_names_all_that_is_missing(
    project: Project,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    given: tuple[str, ...],
    grant: str,
) -> None:
    monkeypatch.setenv("PASSWORD", "jane-secret")
    url = "embedded:?authorizer=acls&superUsers=User:root"
    with testing.cluster(brokers=1, url=url, configs=LOGIN) as cluster:
        prepare(project, kgitops, cluster, given)
        ran = kgitops(command, project.folder)
    assert ran.code == 8, ran.said
    problem, advice = ran.err.removeprefix("kgitops: ").split("; ")
    assert problem.startswith("the cluster does not let User:jane read ")
    assert advice == f"grant it {grant}, as docs/reference/rights.md shows\n"


def prepare(
    project: Project, kgitops: Kgitops, cluster: ClusterForTests, given: tuple[str, ...]
) -> None:
    """Let the project be on the cluster, as jane, who has just these rights."""
    as_jane = login("jane") | {"sasl.password": "${env:PASSWORD}"}
    url = f"kafka://{cluster.bootstrap_servers}"
    project.write(topic("orders")).write_file(clusters={"local": {"url": url, "configs": as_jane}})
    config = Path("root.properties")
    config.write_text("".join(f"{name}={value}\n" for name, value in login("root").items()))
    for right in given:
        words = shlex.split(f"--add --allow-principal User:jane {right} --command-config {config}")
        granted = kgitops("acls", *words, "--bootstrap-server", cluster.bootstrap_servers)
        assert granted.code == 0, granted.said


def login(user: str) -> dict[str, Json]:
    return {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": f"{user}-secret",
    }
