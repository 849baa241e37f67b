"""``kind: Policy`` and ``kind: Waiver``: they are read, and refused until a later version."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.fields import NotNull, Text, manifest
from kgitops.manifests.metadata import Metadata

Level = Literal["info", "advisory", "soft", "hard", "off"]


@manifest
class PolicyMatch:
    """Which requests a policy judges; what is left out matches everything."""

    requests: list[str] = field(default_factory=list)
    """The requests, such as CreateTopic and AlterTopic."""
    names: list[str] = field(default_factory=list)
    """Patterns of the names of objects, such as payments.*."""


@manifest
class PolicyVariable:
    """A named expression that validations use."""

    name: Text
    """The name: variables.NAME in an expression."""
    expression: Text
    """The expression, in CEL."""


@manifest
class Validation:
    """What must be true."""

    expression: Text
    """The expression, in CEL."""
    message: Annotated[str | None, NotNull()] = None
    """What is said where it is false."""
    message_expression: Annotated[str | None, NotNull()] = None
    """The same as an expression, in CEL."""


@manifest
class PolicySpec:
    """A policy."""

    description: Annotated[str | None, NotNull()] = None
    """What the policy is for."""
    remediation: Annotated[str | None, NotNull()] = None
    """What to do where it denies."""
    level: Level = "hard"
    """How binding it is."""
    match: PolicyMatch = field(default_factory=PolicyMatch)
    """Which requests it judges."""
    variables: list[PolicyVariable] = field(default_factory=list)
    """Named expressions."""
    validations: Annotated[list[Validation], MinLen(1)]
    """What must be true of each request."""


@manifest
class Policy:
    """A policy as CEL expressions; comes in a later version."""

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Policy"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: PolicySpec
    """The policy."""


@manifest
class WaiverSpec:
    """An exception from a soft policy, for one object and a time."""

    policy: Text
    """The policy's name."""
    address: Text
    """The address of the object."""
    owner: Text
    """Who answers for it."""
    reason: Text
    """Why."""
    ticket: Text
    """Where it is tracked."""
    expires: Text
    """The day it ends, at most 90 days ahead, such as "2026-12-31"."""


@manifest
class Waiver:
    """An exception from a policy; comes in a later version."""

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Waiver"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: WaiverSpec
    """The exception."""
