"""``kind: Policy`` and ``kind: Waiver``: rules in CEL, and exceptions from them."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import FreeText, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import RuleMetadata
from kgitops.manifests.policies.fields import (
    Address,
    ApiName,
    Day,
    Fingerprint,
    NamePattern,
    NonEmptyText,
    SpecPath,
)

Level = Literal["info", "advisory", "soft", "hard", "off"]


@manifest
class PolicyMetadata(RuleMetadata):
    """The metadata of a policy or a waiver."""

    name: Annotated[str, NamePattern()]
    """The name, as waivers and reports write it: letters, digits, '-', '_' and '.'."""


@manifest
class PolicyMatch:
    """The requests that a policy judges; a field that is left out matches everything."""

    requests: list[Annotated[str, ApiName()]] = field(default_factory=list)
    """The requests, such as CreateTopic and AlterTopic."""
    names: list[Text] = field(default_factory=list)
    """Patterns of the names of objects, such as payments.*; * is any text, ? one character."""


@manifest
class NamedExpression:
    """A CEL expression with a name."""

    name: Text
    """The name."""
    expression: Annotated[Text, FreeText()]
    """The expression, in CEL."""


@manifest
class Validation:
    """A condition that must hold."""

    expression: Annotated[Text, FreeText()]
    """The expression, in CEL."""
    message: Annotated[NonEmptyText | None, NotNull(), FreeText()] = None
    """The message if the condition does not hold."""
    message_expression: Annotated[Text | None, NotNull(), FreeText()] = None
    """The message as an expression, in CEL; if it gives no text, message is used."""
    field: Annotated[SpecPath | None, NotNull()] = None
    """The field of the object's spec that is wrong, such as configs.retention.ms: reports point at
    its line."""


@manifest
class PolicySpec:
    """A policy."""

    description: Annotated[str | None, NotNull(), FreeText()] = None
    """The purpose of the policy."""
    remediation: Annotated[str | None, NotNull(), FreeText()] = None
    """Advice for those whose request is denied."""
    level: Level = "hard"
    """The level: hard and soft stop a run, and soft may be waived."""
    match: PolicyMatch = field(default_factory=PolicyMatch)
    """The requests that the policy judges."""
    match_conditions: list[NamedExpression] = field(default_factory=list)
    """Further conditions, in CEL: all must be true, or the policy does not judge the request."""
    variables: list[NamedExpression] = field(default_factory=list)
    """Expressions for others to use, as variables.NAME; each may use those before it."""
    validations: Annotated[list[Validation], MinLen(1)]
    """The conditions that each request must meet."""


@manifest
class Policy:
    """A policy as CEL expressions.

    Example:
        apiVersion: kgitops/v1
        kind: Policy
        metadata: {name: min-insync}
        spec:
          description: A topic must survive the loss of one broker.
          remediation: Set min.insync.replicas to replicationFactor - 1.
          level: hard
          match: {requests: [CreateTopic, AlterTopic], names: ["payments.*"]}
          variables:
            - {name: isr, expression: "int(requested.configs['min.insync.replicas'])"}
          validations:
            - expression: "variables.isr == requested.replicationFactor - 1"
              messageExpression: "'min.insync.replicas is ' + string(variables.isr)"
              field: configs.min.insync.replicas
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Policy"]
    """The kind of the document."""
    metadata: PolicyMetadata
    """The metadata of the document."""
    spec: PolicySpec
    """The policy."""


@manifest
class WaiverSpec:
    """An exception from a soft policy, for one object and a limited time."""

    policy: Text
    """The policy's name."""
    address: Annotated[str, Address()]
    """The address of the one object, as a plan shows it."""
    fingerprint: Annotated[Fingerprint | None, NotNull()] = None
    """The violation, as a plan shows it: 16 hexadecimal digits. If left out, the waiver covers the
    object's only violation of the policy."""
    owner: NonEmptyText
    """The person or team that answers for the exception."""
    reason: Annotated[NonEmptyText, FreeText()]
    """The reason for the exception."""
    ticket: NonEmptyText
    """The ticket that tracks the exception."""
    approved_by: Annotated[NonEmptyText | None, NotNull()] = None
    """The person or team that approved the exception."""
    expires: Annotated[str, Day()]
    """The last day of the exception (UTC), at most 90 days ahead, such as 2026-12-31."""


@manifest
class Waiver:
    """An exception from a soft policy, for one object and at most 90 days.

    Example:
        apiVersion: kgitops/v1
        kind: Waiver
        metadata: {name: orders-one-partition}
        spec:
          policy: partitions-range
          address: topic/orders
          owner: team-payments
          reason: The old consumer can't take more than one partition.
          ticket: PAY-123
          approvedBy: team-platform
          expires: "2026-12-31"
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Waiver"]
    """The kind of the document."""
    metadata: PolicyMetadata
    """The metadata of the document."""
    spec: WaiverSpec
    """The exception."""
