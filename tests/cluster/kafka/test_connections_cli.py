"""Several clusters in one project, each reached in its own way, and no secret in any output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.projects import Project, topic
from cluster.kafka.many_listeners import PASSWORD, ManyListeners
from cluster.kafka.token_endpoint import CLIENT, SECRET

WRONG = "not-the-password"
SECRETS = {"SCRAM_PASSWORD": PASSWORD, "CLIENT_SECRET": SECRET, "WRONG_PASSWORD": WRONG}
LINES_OF_THE_CLIENTS = " kafka."


@pytest.fixture(scope="module")
def project(many: ManyListeners, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("project")
    (folder / "tls").mkdir()
    for name in ("authority", "client"):
        text = (many.authority.folder / f"{name}.pem").read_text()
        (folder / "tls" / f"{name}.pem").write_text(text)
    scram = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "tls/authority.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "${env:SCRAM_USER}",
        "sasl.password": "${env:SCRAM_PASSWORD}",
    }
    clusters = {
        "mutual": {
            "url": f"kafka://{many.server('MUTUAL')}",
            "configs": {
                "security.protocol": "SSL",
                "ssl.ca.location": "tls/authority.pem",
                "ssl.certificate.location": "tls/client.pem",
                "ssl.key.location": "tls/client.pem",
            },
        },
        "scram": {"url": f"kafka://{many.server('SASLSSL')}", "configs": scram},
        "wrong": {
            "url": f"kafka://{many.server('SASLSSL')}",
            "configs": scram
            | {"sasl.mechanism": "PLAIN", "sasl.password": "${env:WRONG_PASSWORD}"},
        },
        "misspelt": {
            "url": f"kafka://{many.server('SASLSSL')}",
            "configs": scram | {"sasl.mechanism": "${env:WRONG_PASSWORD}"},
        },
        "oauth": {
            "url": "kafka://${env:OAUTH_SERVER}",
            "configs": many.provider.configs()
            | {
                "sasl.oauthbearer.client.id": "${env:CLIENT_ID}",
                "sasl.oauthbearer.client.secret": "${env:CLIENT_SECRET}",
            },
        },
    }
    orders = topic("orders", partitions=1, replicationFactor=1)
    return Project(folder).write(orders).write_file(clusters=clusters)


def kgitops(project: Project, many: ManyListeners, *words: str) -> tuple[int, str, str]:
    """Run it elsewhere than in the project; no output holds a secret."""
    known = {"SCRAM_USER": "alice", "CLIENT_ID": CLIENT, "OAUTH_SERVER": many.server("OAUTH")}
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", *words, str(project.folder)],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=Path(__file__).parent,
        env={**os.environ, **known, **SECRETS},
        check=False,
    )
    for secret in SECRETS.values():
        assert secret not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("cluster", ["mutual", "scram", "oauth"])
def test_every_cluster_of_a_project_is_planned(project: Project, many: ManyListeners, cluster: str):
    code, said, complaint = kgitops(project, many, "plan", "-c", cluster)
    assert (code, complaint) == (0, "")
    assert f"cluster={cluster} " in said
    assert "+ topic orders" in said


def test_a_wrong_password_is_one_sentence(project: Project, many: ManyListeners):
    code, _, complaint = kgitops(project, many, "plan", "-c", "wrong")
    assert code == 8
    assert f"{many.server('SASLSSL')} refuses the user name or password" in complaint
    assert len(complaint.splitlines()) == 1


def test_a_secret_in_the_wrong_place_stays_secret(project: Project, many: ManyListeners):
    code, _, complaint = kgitops(project, many, "plan", "-c", "misspelt")
    assert code == 64
    assert "not '${env:WRONG_PASSWORD}'" in complaint


def test_the_clients_lines_are_shown_where_they_are_asked_for(
    project: Project, many: ManyListeners
):
    quiet = kgitops(project, many, "plan", "-c", "wrong")
    loud = kgitops(project, many, "--log-level", "debug", "plan", "-c", "wrong")
    assert LINES_OF_THE_CLIENTS not in quiet[2]
    assert LINES_OF_THE_CLIENTS in loud[2]
    assert quiet[:2] == loud[:2]
