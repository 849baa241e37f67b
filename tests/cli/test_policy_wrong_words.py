"""``kgitops policy`` where it can't be meant: one sentence each.

Each runs beside ``shop``, a project with the policy ``replicas`` and its test, and ``empty``, a
project without policies.
"""

import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, topic
from cli.test_policy_command import ALL, put, replicas

MISTAKES = {
    "policy": "a command is missing; give one of list, explain, audit, test",
    "policy lst": "no such command 'lst'; did you mean list?",
    "policy explain": "missing argument 'NAME'",
    "policy explain replcas shop": "the project has no policy 'replcas'; did you mean replicas?",
    "policy explain x empty": "the project has no policy 'x'; it has none",
    "policy explain replicas shp": "shp does not exist; did you mean shop?",
    "policy list": "there is no kgitops.yaml here, which names the policies; run kgitops init",
    "policy list shop --format yaml": "'yaml' is not one of 'text', 'json'",
    "policy list shop -c prod": "has no cluster 'prod'; it has local",
    "policy test": "there is no kgitops.yaml here and no PATH was given; run kgitops init",
    "policy test nowhere": "nowhere does not exist; correct the path",
    "policy test empty": "there is no PolicyTest for local in empty/manifests; write one",
    "policy test shop/manifests": "there is no PolicyTest for local in shop/manifests; write one",
    "policy test shop --min 101": "invalid value for '--min': it must be at most 100",
    "policy test shop --min most": "invalid value for '--min': it must be a number",
    "policy test shop --min-score 80": "--min-score is about mutants; add --mutate",
    "policy test shop --format xml": "'xml' is not one of 'text', 'json', 'junit'",
    "policy test shop --mutat": "did you mean --format or --mutate?",
    "policy test shop shop/policies": "is a whole project and can't be mixed",
}


@pytest.fixture
def world(here: Path) -> Path:
    put(Project(here / "shop"), replicas(), ALL, policies=["policies"])
    Project(here / "empty").write(topic())
    return here


@pytest.mark.parametrize("words", MISTAKES)
def test_a_command_line_that_cannot_be_meant_is_told_so(
    words: str, world: Path, kgitops: Kgitops
) -> None:
    ran = kgitops(*shlex.split(words))
    assert ran.code == 64
    assert MISTAKES[words] in ran.said
    assert ran.out == ""
    assert "Traceback" not in ran.err
