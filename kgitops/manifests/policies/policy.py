"""``kind: Policy`` and ``kind: Waiver``: rules in CEL, and exceptions from them."""

import re
from dataclasses import field
from datetime import date
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.manifests.kinds.fields import REFUSED, FreeText, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import RuleMetadata
from kgitops.manifests.yaml.document import shown
from kgitops.model.resources.addresses import is_address
from kgitops.model.resources.kinds import ADDRESSES_IN_WORDS
from kgitops.model.wording import nearest

API_NAMES = (
    "CreateTopic",
    "AlterTopic",
    "DeleteTopic",
    "DeleteRecords",
    "CreateAcl",
    "DeleteAcl",
    "AlterClientQuota",
    "AlterBroker",
    "AlterUserScramCredentials",
    "AlterConfigResource",
    "AlterConsumerGroupOffsets",
    "DeleteConsumerGroup",
    "CreateVirtualCluster",
    "AlterVirtualCluster",
    "DeleteVirtualCluster",
    "CreateTopicLink",
    "DeleteTopicLink",
)
"""The requests that a policy can name.

Changes to the offsets of a virtual cluster's group are AlterVirtualCluster.
"""


class _Checked:
    """Text that a function checks after pydantic; ``pattern`` describes it for editors."""

    pattern: str | None = None

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Text of at least one character, then the check."""
        text = core_schema.str_schema(strict=True, min_length=1)
        return core_schema.no_info_after_validator_function(self.checked, text)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Text, in the form of the pattern."""
        form = handler(schema)
        return form if self.pattern is None else {**form, "pattern": self.pattern}

    def checked(self, text: str) -> str:
        """The text.

        Raises:
            PydanticCustomError: it is not valid.
        """
        raise NotImplementedError


def _refused(problem: str, advice: str) -> PydanticCustomError:
    return PydanticCustomError(REFUSED, "refused", {"problem": problem, "advice": advice})


class _Matching(_Checked):
    """Text in one form."""

    pattern = ""
    problem = ""
    advice = ""

    def checked(self, text: str) -> str:
        """The text, if it has the form."""
        # Python's $ also matches before a line break at the end, JSON Schema's does not.
        if re.search(self.pattern.replace("$", r"\Z"), text) is None:
            raise _refused(f"{shown(text)} {self.problem}", self.advice)
        return text


class NamePattern(_Matching):
    """The name of a policy or a waiver."""

    pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
    problem = "can't be a name"
    advice = "write at most 100 letters, digits, '-', '_' and '.', for example min-insync"


class _NonEmptyText(_Matching):
    """Text that is not blank, on one line or several."""

    pattern = r"\S"
    problem = "is blank"
    advice = "write some text"


class _SpecPath(_Matching):
    """A path of a document's spec."""

    pattern = r"^[^\s.]+(\.[^\s.]+)*$"
    problem = "is not a field"
    advice = "write a path of the object's spec, for example configs.retention.ms"


class _Fingerprint(_Matching):
    """The fingerprint of a violation."""

    pattern = "^[0-9a-f]{16}$"
    problem = "is not a fingerprint"
    advice = "copy its 16 digits from a plan"


class ApiName(_Checked):
    """The name of a request."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors complete the names."""
        return {"enum": list(API_NAMES)}

    def checked(self, text: str) -> str:
        """The text, if it is the name of a request."""
        if text in API_NAMES:
            return text
        meant = nearest(text, API_NAMES)
        advice = f"did you mean {meant}?" if meant else f"write one of {', '.join(API_NAMES)}"
        raise _refused(f"there is no request {shown(text)}", advice)


class Address(_Checked):
    """The address of exactly one object."""

    def checked(self, text: str) -> str:
        """The text, if it is the address of one object."""
        is_topic = re.match(r"topic/|vc/[^/]*/(topic|link)/", text) is not None
        if "*" in text and (is_topic or not is_address(text)):
            raise _refused(
                f"{shown(text)} is too wide: a waiver is for one object",
                "copy the address of the object from a plan",
            )
        if not is_address(text):
            raise _refused(
                f"{shown(text)} is not an address",
                f"copy it from a plan: {ADDRESSES_IN_WORDS}",
            )
        return text


class Day(_Checked):
    """A day of the calendar."""

    pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

    def checked(self, text: str) -> str:
        """The text, if the calendar has such a day."""
        try:
            if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
                date.fromisoformat(text)
                return text
        except ValueError:
            pass
        raise _refused(f"{shown(text)} is not a date", "write year, month and day: 2026-12-31")


NonEmptyText = Annotated[str, _NonEmptyText()]
SpecPath = Annotated[str, _SpecPath()]
Fingerprint = Annotated[str, _Fingerprint()]


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
