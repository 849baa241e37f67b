"""Users of other tools become users of kgitops, without their passwords."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.users import password_variable

_TERRAFORM = """\
resource "kafka_user_scram_credential" "a" {
  username               = "billing"
  scram_mechanism        = "SCRAM-SHA-512"
  scram_iterations       = 8192
  password_wo            = var.secret
  password_wo_version    = 3
}
resource "kafka_user_scram_credential" "b" {
  username        = "billing"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "open-sesame"
}
"""


def _users(project: ConvertedProject) -> dict[str, object]:
    return {
        document.name: document.spec["scram"]
        for item in project.conversion.objects
        for document in item.documents
        if document.kind == "User"
    }


def test_mechanisms_of_several_resources_are_one_user(tmp_path: Path) -> None:
    """The version is kept, iterations are the provider's default, and a literal is told."""
    write(tmp_path, {"in/main.tf": 'variable "secret" {}\n' + _TERRAFORM})
    project = convert(tmp_path / "in", "terraform", "kafka")
    assert project.findings == ()
    assert _users(project) == {
        "billing": [
            {
                "mechanism": "SCRAM-SHA-512",
                "iterations": 8192,
                "password": {"env": "BILLING_PASSWORD"},
                "version": "3",
            },
            {
                "mechanism": "SCRAM-SHA-256",
                "iterations": 4096,
                "password": {"env": "BILLING_PASSWORD_SHA_256"},
            },
        ]
    }
    told = [loss.problem for loss in project.conversion.losses if "secret that was" in loss.problem]
    assert len(told) == 1
    assert "open-sesame" not in "".join(project.files.values()) + "".join(told)


def test_generated_passwords_are_told(tmp_path: Path) -> None:
    """The user is declared all the same: it can be adopted."""
    text = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: billing}
spec: {authentication: {type: scram-sha-512}}
"""
    write(tmp_path, {"in/user.yaml": text})
    project = convert(tmp_path / "in", "strimzi", "kafka")
    assert list(_users(project)) == ["billing"]
    assert ["generated password" in loss.problem for loss in project.conversion.losses] == [True]


@pytest.mark.parametrize("name", ["a_b", "a.b", "A-B", "9", "é", "a b"])
def test_variables_are_valid_and_no_two_users_share_one(name: str) -> None:
    variable = password_variable(name, "SCRAM-SHA-512")
    assert variable.isascii()
    assert variable.isidentifier()
    assert variable != password_variable("a-b", "SCRAM-SHA-512")
