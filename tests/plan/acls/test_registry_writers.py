"""Whoever else may write the registry is named in every plan."""

import pytest
from builders import a_binding, a_cluster, a_desired, plan_of
from msgspec.structs import replace

from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.source import Severity
from kgitops.plan.access import warn_of_registry_writers

ME = "User:ANONYMOUS"
MALLORY = replace(
    a_binding("User:mallory"),
    resource_type=ResourceType.TOPIC,
    resource_name="__kgitops",
    pattern_type=PatternType.LITERAL,
    host="*",
    operation=Operation.WRITE,
    permission_type=PermissionType.ALLOW,
)


def said(*acls: AclBinding) -> str:
    return " ".join(str(finding) for finding in warn_of_registry_writers(acls, ME))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("__kgitops", PatternType.LITERAL),
        ("*", PatternType.LITERAL),
        ("__", PatternType.PREFIXED),
        ("__kgitops", PatternType.PREFIXED),
    ],
)
@pytest.mark.parametrize("operation", ["Write", "Delete", "Alter", "AlterConfigs"])
def test_whatever_pattern_lets_them(name: str, pattern: PatternType, operation: str) -> None:
    acl = replace(MALLORY, resource_name=name, pattern_type=pattern, operation=Operation(operation))
    assert f"User:mallory ({operation})" in said(acl)
    assert said(replace(acl, operation=Operation.ALL)).count("User:mallory") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"operation": Operation.READ},
        {"operation": Operation.DESCRIBE_CONFIGS},
        {"resource_type": ResourceType.GROUP},
        {"resource_name": "__kgitops2"},
        {"resource_name": "__kgitops-", "pattern_type": PatternType.PREFIXED},
        {"permission_type": PermissionType.DENY},
        {"principal": ME},
    ],
)
def test_nothing_else_does(change: dict) -> None:
    assert said(replace(MALLORY, **change)) == ""


def test_a_deny_of_the_same_takes_it_away() -> None:
    everything = replace(MALLORY, operation=Operation.ALL)
    deny = replace(MALLORY, permission_type=PermissionType.DENY)
    assert "Write" not in said(everything, deny)
    assert "Delete" in said(everything, deny)
    assert said(MALLORY, replace(deny, principal="User:*", operation=Operation.ALL)) == ""
    assert said(MALLORY, replace(deny, host="10.0.0.1")) != ""
    assert said(MALLORY, replace(deny, principal="User:other")) != ""


def test_many_are_counted() -> None:
    crowd = [replace(MALLORY, principal=f"User:m{number}") for number in range(8)]
    assert "User:m4 (Write), 3 more;" in said(*crowd)


def test_a_plan_says_so_and_is_not_stopped() -> None:
    plan = plan_of(a_desired(), replace(a_cluster(), acls=frozenset({MALLORY})))
    (warning,) = [finding for finding in plan.warnings if "__kgitops" in finding.problem]
    assert warning.severity is Severity.WARNING
    assert not plan.verdict.stops
