"""The fields of policies and waivers, and the error texts for wrong ones."""

import re
from datetime import date
from typing import Annotated

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.manifests.kinds.fields import REFUSED
from kgitops.manifests.yaml.text import shown
from kgitops.model.resources.addresses import is_address
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
                "copy it from a plan: topic/NAME, acl/…, quota/…, user/NAME, group/NAME, "
                "client-metrics/NAME, broker-config/ID, broker/ID or vc/…",
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
