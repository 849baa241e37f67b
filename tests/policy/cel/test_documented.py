"""``docs/reference/policies-cel.md``: its tables and examples agree with the code."""

import re
from pathlib import Path

import pytest
from policy.asking import deletion
from policy.cel.writing import alteration, creation, judged, read, state, topic

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import USER, ClientQuotaState, make_entity
from kgitops.policy.cel.rule import load_cel

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "policies-cel.md"
TEXT = PAGE.read_text(encoding="utf-8")
POLICIES = {
    read(block).name: block
    for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    if "kind: Policy\n" in block
}
ENTITY = make_entity({USER: "billing"})


def an_acl(principal: str, name: str) -> req.CreateAclRequest:
    return req.CreateAclRequest(
        binding=AclBinding(
            resource_type=ResourceType.TOPIC,
            resource_name=name,
            pattern_type=PatternType.LITERAL,
            principal=principal,
            host="*",
            operation=Operation.READ,
            permission_type=PermissionType.ALLOW,
        )
    )


def a_quota(value: float) -> req.AlterClientQuotaRequest:
    return req.AlterClientQuotaRequest(entity=ENTITY, quotas={"producer_byte_rate": value})


PAYMENTS = topic("payments.a", assignment=((1, 2, 3),) * 90)
QUOTAS = ClusterState(
    cluster_id="test",
    backend="embedded",
    quotas={ENTITY: ClientQuotaState(entity=ENTITY, quotas={"producer_byte_rate": 10.0})},
)
# Policy, what it denies, what it accepts, on which cluster, and the words.
CASES: list[tuple[str, req.Request, req.Request, ClusterState, str]] = [
    (
        "min-insync",
        creation("payments.b"),
        creation("payments.b", {"min.insync.replicas": "2"}),
        state(),
        "min.insync.replicas is 1",
    ),
    (
        "retention",
        creation(configs={"retention.ms": "2592000001"}),
        creation(),
        state(),
        "records may be kept for at most 30 days",
    ),
    (
        "partition-budget",
        alteration(PAYMENTS, assignment=((1, 2, 3),) * 101),
        alteration(PAYMENTS, assignment=((1, 2, 3),) * 100),
        state(PAYMENTS),
        "payments would have 101 partitions of 100",
    ),
    (
        "spread-over-racks",
        creation(assignment=((1, 2), (3,))),
        creation(assignment=((1, 2), (3, 1))),
        state(),
        "the replicas of each partition must stand in two racks",
    ),
    (
        "no-wildcards",
        an_acl("User:*", "*"),
        an_acl("User:billing", "orders"),
        state(),
        "the right would be everybody's; name who may do this; "
        "the right would be on everything; name the resource",
    ),
    (
        "keep-audits",
        deletion("audit.trail"),
        deletion("orders"),
        state(topic("audit.trail"), topic("orders")),
        "audit.trail is kept by law",
    ),
    ("quota-steps", a_quota(101.0), a_quota(100.0), QUOTAS, "a quota may grow tenfold at most"),
]


def test_every_example_is_tried() -> None:
    assert list(POLICIES) == [name for name, *_ in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_an_example_does_what_it_says(
    case: tuple[str, req.Request, req.Request, ClusterState, str],
) -> None:
    name, denied, accepted, cluster, words = case
    load_cel(read(POLICIES[name]))
    judgement = judged(POLICIES[name], denied, cluster)
    assert (judgement.stops, judgement.message) == (True, words)
    (ruling,) = judged(POLICIES[name], accepted, cluster)
    assert (ruling.outcome, ruling.message) == ("passed", "")


def test_the_finding_that_is_shown_is_said() -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", TEXT, re.DOTALL)
    expression = shown.partition("policy isr: ")[2].partition(" compares")[0]
    assert expression in shown
    text = (
        "apiVersion: kgitops/v1\nkind: Policy\nmetadata: {name: isr}\nspec:\n"
        "  description: d\n  remediation: r\n  match: {requests: [CreateTopic]}\n"
        f"  validations:\n    - expression: {expression}\n"
    )
    with pytest.raises(FindingsError) as caught:
        load_cel(read(text, "policies/isr.yaml"))
    assert str(caught.value) == shown
