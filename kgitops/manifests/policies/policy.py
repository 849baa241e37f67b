"""``kind: Policy`` and ``kind: Waiver``: rules in CEL, and exceptions from them."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import NotNull, Text, manifest
from kgitops.manifests.kinds.metadata import RuleMetadata
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
    """What a policy or a waiver says about itself."""

    name: Annotated[str, NamePattern()]
    """Its name, as waivers and reports write it: letters, digits, '-', '_' and '.'."""


@manifest
class PolicyMatch:
    """Which requests a policy judges; what is left out matches everything."""

    requests: list[Annotated[str, ApiName()]] = field(default_factory=list)
    """The requests, such as CreateTopic and AlterTopic."""
    names: list[Text] = field(default_factory=list)
    """Patterns of the names of objects, such as payments.*; * is any text, ? one character."""


@manifest
class NamedExpression:
    """A CEL expression with a name."""

    name: Text
    """The name."""
    expression: Text
    """The expression, in CEL."""


@manifest
class Validation:
    """What must be true."""

    expression: Text
    """The expression, in CEL."""
    message: Annotated[NonEmptyText | None, NotNull()] = None
    """What is said where it is false."""
    message_expression: Annotated[Text | None, NotNull()] = None
    """The same as an expression, in CEL; where it gives no text, message is said."""
    field: Annotated[SpecPath | None, NotNull()] = None
    """The field of the object's spec that is wrong, such as configs.retention.ms: reports point at
    its line."""


@manifest
class PolicySpec:
    """A policy."""

    description: Annotated[str | None, NotNull()] = None
    """What the policy is for."""
    remediation: Annotated[str | None, NotNull()] = None
    """What to do where it denies."""
    level: Level = "hard"
    """How binding it is: hard and soft stop a run, and soft may be waived."""
    match: PolicyMatch = field(default_factory=PolicyMatch)
    """Which requests it judges."""
    match_conditions: list[NamedExpression] = field(default_factory=list)
    """Further conditions, in CEL: all must be true, or the policy does not judge the request."""
    variables: list[NamedExpression] = field(default_factory=list)
    """Expressions for others to use, as variables.NAME; each may use those before it."""
    validations: Annotated[list[Validation], MinLen(1)]
    """What must be true of each request."""


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
    """What the document declares."""
    metadata: PolicyMetadata
    """What the document says about itself."""
    spec: PolicySpec
    """The policy."""


@manifest
class WaiverSpec:
    """An exception from a soft policy, for one object and a time."""

    policy: Text
    """The policy's name."""
    address: Annotated[str, Address()]
    """The address of the one object, as a plan shows it."""
    fingerprint: Annotated[Fingerprint | None, NotNull()] = None
    """The violation, as a plan shows it: 16 hexadecimal digits. Left out, the waiver covers the
    object's only violation of the policy."""
    owner: NonEmptyText
    """Who answers for it."""
    reason: NonEmptyText
    """Why."""
    ticket: NonEmptyText
    """Where it is tracked."""
    approved_by: Annotated[NonEmptyText | None, NotNull()] = None
    """Who allowed it."""
    expires: Annotated[str, Day()]
    """The last day on which it holds (UTC), at most 90 days ahead, such as 2026-12-31."""


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
    """What the document declares."""
    metadata: PolicyMetadata
    """What the document says about itself."""
    spec: WaiverSpec
    """The exception."""
