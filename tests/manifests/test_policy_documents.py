"""Policy and Waiver documents: read with their places, refused in one sentence each."""

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest
from manifests.loading import load, topic, write

from kgitops.manifests.load import ManifestSet
from kgitops.manifests.policies.policy import Policy, Waiver
from kgitops.manifests.policies.values import cel_policy, waiver
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import CelPolicy, Level, RequestMatch

Load = Callable[..., ManifestSet]
POLICY = """\
apiVersion: kgitops/v1
kind: Policy
metadata: {name: min-insync}
spec:
  description: A topic must survive the loss of one broker.
  remediation: Set min.insync.replicas to replicationFactor - 1.
  level: soft
  match: {requests: [CreateTopic, AlterTopic], names: ["payments.*"]}
  matchConditions:
    - {name: not-me, expression: principal.name != 'me'}
  variables:
    - {name: isr, expression: "int(requested.configs['min.insync.replicas'])"}
  validations:
    - expression: variables.isr == requested.replicationFactor - 1
      messageExpression: >-
        'min.insync.replicas is '
        + string(variables.isr)
      field: configs.min.insync.replicas
    - {expression: "true", message: never said}
"""
WAIVER = """\
apiVersion: kgitops/v1
kind: Waiver
metadata: {name: once}
spec:
  policy: min-insync
  address: topic/orders
  fingerprint: 0123456789abcdef
  owner: team-payments
  reason: The old consumer can't take more.
  ticket: PAY-123
  approvedBy: team-platform
  expires: 2026-12-31
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def load_text(
        text: str, cluster: str = "local", variables: Mapping[str, str] | None = None
    ) -> ManifestSet:
        monkeypatch.chdir(tmp_path)
        write(tmp_path, {"p.yaml": text})
        return load("p.yaml", cluster=cluster, variables=variables)

    return load_text


def the_policy(manifests: ManifestSet) -> CelPolicy:
    assert not manifests.findings
    (manifest,) = manifests.manifests
    assert isinstance(manifest.declares, Policy)
    return cel_policy(manifest.declares, manifest.document)


def test_a_policy_becomes_a_value_whose_expressions_know_their_places(loaded: Load) -> None:
    policy = the_policy(loaded(POLICY))
    assert (policy.name, policy.level) == ("min-insync", Level.SOFT)
    assert policy.description == "A topic must survive the loss of one broker."
    assert policy.remediation == "Set min.insync.replicas to replicationFactor - 1."
    assert policy.match == RequestMatch(
        requests=("CreateTopic", "AlterTopic"), names=("payments.*",)
    )
    assert policy.source == Source("p.yaml", 3, 18)
    (condition,) = policy.match_conditions
    assert (condition.name, condition.expression) == ("not-me", "principal.name != 'me'")
    assert condition.source == Source("p.yaml", 10, 34)
    (variable,) = policy.variables
    assert variable.source == Source("p.yaml", 12, 31)
    first, second = policy.validations
    assert first.expression == "variables.isr == requested.replicationFactor - 1"
    assert first.message_expression == "'min.insync.replicas is ' + string(variables.isr)"
    assert first.source == Source("p.yaml", 14, 19)
    assert first.message_source == Source("p.yaml", 15, 26)
    assert (first.message, first.field) == (None, "configs.min.insync.replicas")
    assert (second.message, second.message_source, second.field) == ("never said", None, None)


def test_a_waiver_becomes_a_value(loaded: Load) -> None:
    (manifest,) = loaded(WAIVER).manifests
    assert isinstance(manifest.declares, Waiver)
    made = waiver(manifest.declares, manifest.document)
    assert (made.name, made.policy, made.address) == ("once", "min-insync", "topic/orders")
    assert (made.owner, made.ticket) == ("team-payments", "PAY-123")
    assert made.reason == "The old consumer can't take more."
    assert (made.expires, made.fingerprint) == (date(2026, 12, 31), "0123456789abcdef")
    assert made.source == Source("p.yaml", 3, 18)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replicationFactor - 1\n      m", "replicationFactor - 2\n      m"),
        ("'min.insync.replicas is '\n", "'it is '\n"),
        ("field: configs.min", "field: configs.max"),
        ("message: never said", "message: said"),
        ("[CreateTopic, AlterTopic]", "[CreateTopic]"),
        ('["payments.*"]', '["payment.*"]'),
        ("name != 'me'", "name != 'you'"),
        ("int(requested", "1 + int(requested"),
    ],
)
def test_the_digest_covers_what_a_policy_decides(loaded: Load, old: str, new: str) -> None:
    changed = POLICY.replace(old, new)
    assert changed != POLICY
    assert the_policy(loaded(changed)).digest != the_policy(loaded(POLICY)).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("level: soft", "level: hard"),
        ("description: A", "description: Any"),
        ("remediation: Set", "remediation: Better set"),
        ("name: min-insync", "name: other"),
        ("apiVersion", "\n# moved down\n\napiVersion"),
        ("[CreateTopic, AlterTopic]", "[AlterTopic, CreateTopic]"),
        ("{name: min-insync}", "{name: min-insync, clusters: [local]}"),
    ],
)
def test_the_digest_covers_nothing_else(loaded: Load, old: str, new: str) -> None:
    changed = POLICY.replace(old, new)
    assert changed != POLICY
    assert the_policy(loaded(changed)).digest == the_policy(loaded(POLICY)).digest


def test_the_digest_is_the_same_on_every_machine(loaded: Load) -> None:
    """Plans record it, and apply compares it."""
    assert the_policy(loaded(POLICY)).digest == (
        "sha256:735f42cec55bac7a96ec03ac4f5c2be76b2532fc6b2314591c1ee5e688bad73c"
    )


def test_metadata_clusters_limits_policies_and_waivers(loaded: Load) -> None:
    text = (POLICY + "---\n" + WAIVER).replace("insync}", "insync, clusters: [prod]}")
    text = text.replace("once}", "once, clusters: [prod]}")
    here, there = loaded(text, cluster="local"), loaded(text, cluster="prod")
    assert (len(here.manifests), len(here.other_clusters)) == (0, 2)
    assert (len(there.manifests), len(there.other_clusters)) == (2, 0)


def test_placeholders_stand_for_values_in_expressions(loaded: Load) -> None:
    text = POLICY.replace("Factor - 1\n", "Factor - ${var:spare}\n", 2).replace(
        "never said", '"$${not} one"'
    )
    policy = the_policy(loaded(text, variables={"spare": "2"}))
    assert policy.validations[0].expression.endswith("requested.replicationFactor - 2")
    assert policy.validations[1].message == "${not} one"
    (finding,) = loaded(text).findings
    assert str(finding).startswith("p.yaml:14:19: ${var:spare} has no value")


def in_policy(old: str, new: str) -> str:
    assert old in POLICY
    return POLICY.replace(old, new)


def in_waiver(old: str, new: str) -> str:
    assert old in WAIVER
    return WAIVER.replace(old, new)


def with_address(address: str) -> str:
    return in_waiver("topic/orders", json.dumps(address))


WRONG: dict[str, tuple[str, str, str]] = {
    "a misspelt request": (
        in_policy("[CreateTopic,", "[CreateTopics,"),
        "8:22",
        "spec.match.requests[0]: there is no request 'CreateTopics'; did you mean CreateTopic?",
    ),
    "a request in lower case": (
        in_policy("[CreateTopic,", "[createtopic,"),
        "8:22",
        "there is no request 'createtopic'; did you mean CreateTopic?",
    ),
    "a request of HTTP": (
        in_policy("[CreateTopic,", "[POST,"),
        "8:22",
        "there is no request 'POST'; write one of CreateTopic, AlterTopic, DeleteTopic",
    ),
    "requests as text": (
        in_policy("[CreateTopic, AlterTopic]", "CreateTopic"),
        "8:21",
        "spec.match.requests must be a list, not 'CreateTopic'",
    ),
    "an empty pattern": (in_policy('"payments.*"', '""'), "8:56", "must not be empty"),
    "a name with a space": (
        in_policy("name: min-insync", "name: min insync"),
        "3:18",
        "metadata.name: 'min insync' can't be a name; write at most 100 letters",
    ),
    "a name with a line break": (
        in_policy("name: min-insync", 'name: "min\\n"'),
        "3:18",
        "can't be a name",
    ),
    "a name that begins with a dash": (in_policy("name: min-", "name: -"), "3:18", "be a name"),
    "a name of 101 letters": (in_policy("min-insync", "m" * 101), "3:18", "can't be a name"),
    "a name that is a number": (in_policy("min-insync", "7"), "3:18", "must be text, not 7"),
    "a level that is none": (
        in_policy("level: soft", "level: warn"),
        "7:10",
        "spec.level must be one of info, advisory, soft, hard, off, not 'warn'",
    ),
    "no validations": (
        in_policy('    - {expression: "true", message: never said}\n', "").partition(
            "  validations"
        )[0]
        + "  validations: []\n",
        "13:16",
        "spec.validations must not be empty",
    ),
    "an empty expression": (
        in_policy('{expression: "true"', '{expression: ""'),
        "19:20",
        "spec.validations[1].expression must not be empty",
    ),
    "an expression that is a boolean": (
        in_policy('{expression: "true"', "{expression: true"),
        "19:20",
        "must be text, not true; put it in quotes",
    ),
    "a blank message": (
        in_policy("message: never said", 'message: "  "'),
        "19:37",
        "spec.validations[1].message: '  ' is blank; write some text",
    ),
    "a field with a space": (
        in_policy("field: configs.min", "field: configs. min"),
        "18:14",
        "is not a field; write a path of the object's spec, for example configs.retention.ms",
    ),
    "a field of Kubernetes": (
        in_policy("  level: soft", "  failurePolicy: Fail"),
        "7:3",
        "spec.failurePolicy is not a field of Policy",
    ),
    "a misspelt field": (
        in_policy("  matchConditions", "  matchCondition"),
        "9:3",
        "did you mean matchConditions?",
    ),
    "every topic": (
        with_address("topic/*"),
        "6:12",
        "spec.address: 'topic/*' is too wide: a waiver is for one object; copy the address of",
    ),
    "topics by prefix": (with_address("topic/orders*"), "6:12", "'topic/orders*' is too wide"),
    "everything": (with_address("*"), "6:12", "'*' is too wide: a waiver is for one object"),
    "every quota": (with_address("quota/*"), "6:12", "'quota/*' is too wide"),
    "a name alone": (
        with_address("orders"),
        "6:12",
        "'orders' is not an address; copy it from a plan: topic/NAME, group/NAME",
    ),
    "a kind alone": (with_address("topic/"), "6:12", "'topic/' is not an address"),
    "half an ACL": (with_address("acl/User:a/Allow"), "6:12", "is not an address"),
    "every topic of a virtual cluster": (
        with_address("vc/emea/topic/*"),
        "6:12",
        "'vc/emea/topic/*' is too wide",
    ),
    "a day that is none": (
        in_waiver("2026-12-31", "2026-02-30"),
        "12:12",
        "spec.expires: '2026-02-30' is not a date; write year, month and day: 2026-12-31",
    ),
    "a day in words": (in_waiver("2026-12-31", "tomorrow"), "12:12", "'tomorrow' is not a date"),
    "a day without dashes": (in_waiver("2026-12-31", '"20261231"'), "12:12", "is not a date"),
    "a week": (in_waiver("2026-12-31", "2026-W10-1"), "12:12", "'2026-W10-1' is not a date"),
    "a day with a time": (
        in_waiver("2026-12-31", "2026-12-31T10:00:00Z"),
        "12:12",
        "is not a date",
    ),
    "a fingerprint that is short": (
        in_waiver("0123456789abcdef", "abcdef"),
        "7:16",
        "spec.fingerprint: 'abcdef' is not a fingerprint; copy its 16 digits from a plan",
    ),
    "a fingerprint in capitals": (in_waiver("9abcdef", "9ABCDEF"), "7:16", "is not a fingerprint"),
    "no owner": (in_waiver("team-payments", ""), "8:9", "spec.owner must be text, not empty"),
    "an owner of spaces": (in_waiver("team-payments", '" "'), "8:10", "spec.owner: ' ' is blank"),
    "no reason": (
        in_waiver("  reason: The old consumer can't take more.\n", ""),
        "5:3",
        "spec.reason is missing; add it",
    ),
    "a ticket that is a number": (in_waiver("PAY-123", "123"), "10:11", "must be text, not 123"),
    "an approver that is null": (in_waiver("team-platform", "null"), "11:15", "not null"),
    "a waiver of nothing": (in_waiver("min-insync", '""'), "5:11", "spec.policy must not be empty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_document_that_cannot_be_meant_is_one_finding(loaded: Load, name: str) -> None:
    text, place, sentence = WRONG[name]
    manifests = loaded(text)
    (finding,) = manifests.findings
    print(f"{name}: {finding}")
    assert str(finding).startswith(f"p.yaml:{place}: ")
    assert sentence in str(finding)
    assert manifests.manifests == ()


@pytest.mark.parametrize(
    "address",
    [
        "topic/orders",
        "topic/a%2Fb",
        "acl/User:billing/Allow/Read/topic/literal/*@*",
        "acl/User:billing/Deny/All/transactionalId/prefixed/tx-@10.0.0.1",
        "quota/user=billing,client-id=<default>",
        "quota/ip=10.0.0.1",
        "broker/1",
    ],
)
def test_the_address_of_one_object_is_taken(loaded: Load, address: str) -> None:
    assert not loaded(with_address(address)).findings


def test_policies_lie_among_other_documents(loaded: Load) -> None:
    manifests = loaded(f"{topic()}---\n{POLICY}---\n{WAIVER}")
    assert [one.declares.kind for one in manifests.manifests] == ["Topic", "Policy", "Waiver"]
