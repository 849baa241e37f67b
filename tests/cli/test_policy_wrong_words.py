"""``kgitops policy`` where it can't be meant, or where policies and tests can't: one sentence each.

Each runs beside ``shop``, a project with the policy ``replicas`` and its test, ``empty``, a project
without policies, and ``bad``, a folder for the one test document that is wrong.
"""

import json
import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, document, topic
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
    "policy test empty": "there is no PolicyTest in empty/manifests; write one",
    "policy test shop/manifests": "there is no PolicyTest in shop/manifests; write one",
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


REQUEST = {"createTopic": {"name": "a", "partitions": 1, "replicationFactor": 1}}
CASE = {"name": "x", "requests": [REQUEST]}
DOCUMENTS: dict[str, tuple[dict[str, object], str]] = {
    "no policy": ({"cases": [CASE]}, "a test names exactly one of policy and class"),
    "both": (
        {"policy": "replicas", "class": "a:B", "cases": [CASE]},
        "a test names exactly one of policy and class",
    ),
    "unknown policy": (
        {"policy": "replica", "cases": [CASE]},
        "the project has no policy 'replica'; did you mean replicas?",
    ),
    "configs": (
        {"policy": "replicas", "configs": {"a": 1}, "cases": [CASE]},
        "spec.configs can't be combined with spec.policy; the project configures its policies",
    ),
    "no module": (
        {"class": "nowhere:Nothing", "cases": [CASE]},
        "there is no module nowhere",
    ),
    "no class": (
        {"class": "kgitops.policies:PartitonRange", "cases": [CASE]},
        "has no class PartitonRange",
    ),
    "no colon": (
        {"class": "kgitops.policies", "cases": [CASE]},
        "write class as module:Class",
    ),
    "wrong config": (
        {"class": "kgitops.policies:PartitionRange", "configs": {"mx": 1}, "cases": [CASE]},
        "mx is not a config of PartitionRange (did you mean max?)",
    ),
    "no cases": ({"policy": "replicas", "cases": []}, "spec.cases must not be empty"),
    "no requests": (
        {"policy": "replicas", "cases": [{"name": "x", "requests": []}]},
        "spec.cases[0].requests must not be empty",
    ),
    "unknown field": (
        {"policy": "replicas", "cases": [CASE | {"expects": []}]},
        "spec.cases[0].expects is not a field of PolicyTest; did you mean expect?",
    ),
    "unknown request": (
        {"policy": "replicas", "cases": [{"name": "x", "requests": [{"creatTopic": {}}]}]},
        "is not a field of PolicyTest; did you mean createTopic?",
    ),
    "two requests in one": (
        {
            "policy": "replicas",
            "cases": [{"name": "x", "requests": [REQUEST | {"deleteTopic": {"name": "a"}}]}],
        },
        "a request has exactly one key next to labels",
    ),
    "wrong outcome": (
        {
            "policy": "replicas",
            "cases": [CASE | {"expect": [{"address": "topic/a", "outcome": "refused"}]}],
        },
        "must be one of denied, passed, not 'refused'",
    ),
    "bad pattern": (
        {
            "policy": "replicas",
            "cases": [CASE | {"expect": [{"address": "topic/a", "message": "few ("}]}],
        },
        "the message is not a regular expression (RE2): missing )",
    ),
    "message of what passes": (
        {
            "policy": "replicas",
            "cases": [
                CASE | {"expect": [{"address": "topic/a", "outcome": "passed", "message": "x"}]}
            ],
        },
        "a request that passes has no message",
    ),
    "other address": (
        {"policy": "replicas", "cases": [CASE | {"expect": [{"address": "topic/b"}]}]},
        "no request of this case is about topic/b; did you mean topic/a?",
    ),
    "unknown never": (
        {"policy": "replicas", "cases": [CASE | {"never": ["nobody"]}]},
        "the project has no policy 'nobody'; it has replicas",
    ),
    "no principal": (
        {"policy": "replicas", "cases": [CASE | {"principal": "sales"}]},
        "'sales' is not a principal; write it as Type:name",
    ),
    "same name": (
        {"policy": "replicas", "cases": [CASE, CASE]},
        "another case of this test is called 'x' too",
    ),
    "unknown topic": (
        {
            "policy": "replicas",
            "cluster": {"topics": {"orders": {"partitions": 1, "replicationFactor": 1}}},
            "cases": [{"name": "x", "requests": [{"deleteTopic": {"name": "order"}}]}],
        },
        "there is no topic order at this point; did you mean orders?",
    ),
    "too many replicas": (
        {
            "policy": "replicas",
            "cluster": {"brokers": 1},
            "cases": [
                {
                    "name": "x",
                    "requests": [
                        {"createTopic": {"name": "a", "partitions": 1, "replicationFactor": 2}}
                    ],
                }
            ],
        },
        "2 replicas need as many brokers, and 1 is unfenced; give the cluster more brokers",
    ),
    "no size": (
        {
            "policy": "replicas",
            "cases": [{"name": "x", "requests": [{"createTopic": {"name": "a"}}]}],
        },
        "the topic a has no size; write partitions and replicationFactor",
    ),
    "a size twice": (
        {
            "policy": "replicas",
            "cluster": {"topics": {"t": {"partitions": 1, "assignments": {"0": [1]}}}},
            "cases": [CASE],
        },
        "assignments decide partitions and replicationFactor",
    ),
    "no such broker": (
        {
            "policy": "replicas",
            "cases": [
                {
                    "name": "x",
                    "requests": [{"createTopic": {"name": "a", "assignments": {"0": [7]}}}],
                }
            ],
        },
        "the cluster has no broker 7; it has 1, 2, 3",
    ),
    "two steps at once": (
        {
            "policy": "replicas",
            "cases": [
                {
                    "name": "x",
                    "requests": [
                        REQUEST,
                        {"alterTopic": {"name": "a", "partitions": 2, "configs": {"a": 1}}},
                    ],
                }
            ],
        },
        "alterTopic needs exactly one of configs, partitions and assignments",
    ),
    "fewer partitions": (
        {
            "policy": "replicas",
            "cluster": {"topics": {"t": {"partitions": 3, "replicationFactor": 1}}},
            "cases": [{"name": "x", "requests": [{"alterTopic": {"name": "t", "partitions": 2}}]}],
        },
        "t has 3 partitions and Kafka can only add some; write a number above 3",
    ),
    "a topic that is there": (
        {
            "policy": "replicas",
            "cluster": {"topics": {"a": {"partitions": 3, "replicationFactor": 1}}},
            "cases": [CASE],
        },
        "the topic a is there already",
    ),
    "no such partition": (
        {
            "policy": "replicas",
            "cluster": {"topics": {"t": {"partitions": 3, "replicationFactor": 1}}},
            "cases": [
                {
                    "name": "x",
                    "requests": [{"deleteRecords": {"name": "t", "offsets": {"3": 1}}}],
                }
            ],
        },
        "t has no partition 3; it has 0 to 2",
    ),
    "nobody's quota": (
        {
            "policy": "replicas",
            "cases": [
                {
                    "name": "x",
                    "requests": [
                        {"alterClientQuota": {"entity": {}, "quotas": {"consumer_byte_rate": 1}}}
                    ],
                }
            ],
        },
        "the quota names no entity; write user, clientId, ip or virtualCluster below entity",
    ),
    "no quota": (
        {
            "policy": "replicas",
            "cases": [
                {
                    "name": "x",
                    "requests": [
                        {
                            "alterClientQuota": {
                                "entity": {"user": "a"},
                                "quotas": {"consumer_byterate": 1},
                            }
                        }
                    ],
                }
            ],
        },
        "'consumer_byterate' is not a quota of this entity; did you mean consumer_byte_rate?",
    ),
    "an acl of nobody": (
        {
            "policy": "replicas",
            "cluster": {
                "acls": [
                    {
                        "principal": "billing",
                        "permission": "Allow",
                        "operation": "Read",
                        "resource": {"type": "topic", "name": "a"},
                    }
                ]
            },
            "cases": [CASE],
        },
        "'billing' is not a principal; write it as Type:name",
    ),
    "a placeholder": (
        {"policy": "replicas", "cases": [CASE | {"principal": "User:${env:NOBODY:-x}"}]},
        "holds a placeholder",
    ),
    "two brokers of one id": (
        {"policy": "replicas", "cluster": {"brokers": [{"id": 1}, {"id": 1}]}, "cases": [CASE]},
        "two brokers have the id 1; number them apart",
    ),
}


@pytest.mark.parametrize("mistake", DOCUMENTS)
def test_a_test_that_cannot_be_meant_is_a_finding_with_its_place(
    mistake: str, world: Path, kgitops: Kgitops
) -> None:
    spec, said = DOCUMENTS[mistake]
    path = world / "shop/policies/bad.yaml"
    path.write_text(as_yaml([document("PolicyTest", "bad", **spec)]))  # type: ignore[arg-type]
    ran = kgitops("policy", "test", "shop")
    assert ran.code == 1
    assert said in ran.said
    assert "shop/policies/bad.yaml:" in ran.said
    assert "; " in ran.said
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_two_tests_of_one_name_are_a_finding(world: Path, kgitops: Kgitops) -> None:
    (world / "shop/policies/bad.yaml").write_text(as_yaml([ALL]))
    ran = kgitops("policy", "test", "shop")
    assert (ran.code, "the test replicas is here and at" in ran.said) == (1, True)


def test_findings_are_a_verdict_in_json(world: Path, kgitops: Kgitops) -> None:
    bad = document("PolicyTest", "bad", cases=[])
    (world / "shop/policies/bad.yaml").write_text(as_yaml([bad]))
    ran = kgitops("policy", "test", "shop", "--format", "json")
    assert json.loads(ran.out)["verdict"]["exit"] == 1
