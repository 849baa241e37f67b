"""``kind: User``: a user who logs in by SCRAM, whose passwords are never in a document."""

from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.manifests.kinds.fields import (
    REFUSED,
    EnumName,
    FreeText,
    IntRange,
    NotNull,
    Text,
    manifest,
)
from kgitops.manifests.kinds.metadata import Metadata
from kgitops.model.resources.users import (
    DEFAULT_GENERATED,
    DEFAULT_ITERATIONS,
    MAX_GENERATED,
    MAX_ITERATIONS,
    MIN_GENERATED,
    MIN_ITERATIONS,
    ScramMechanism,
)

_PROBLEM = "must say where the password comes from"
_LITERAL = "must say where the password comes from, and never be a password itself"
_ADVICE = (
    "write one of {env: VARIABLE}, {file: PATH}, {command: [PROGRAM, ARGUMENT]}, {unknown: true} "
    "or {generate: {to: {file: PATH}}}"
)


class WithoutValues:
    """A part of a document of which no finding shows a value: it may be a secret by mistake."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """One text for everything that is wrong below it."""
        return core_schema.no_info_wrap_validator_function(_without_values, handler(source))


def _without_values(value: object, handler: core_schema.ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        problem = _PROBLEM if isinstance(value, dict) else _LITERAL
        context = {"problem": problem, "advice": _ADVICE}
    raise PydanticCustomError(REFUSED, "password", context)


Command = Annotated[list[Text], MinLen(1)]


@manifest
class PasswordSink:
    """The place that gets a generated password: file or command."""

    file: Annotated[Text | None, NotNull()] = None
    """The file that it is written to, which only its owner may read."""
    command: Annotated[Command | None, NotNull()] = None
    """A program and its arguments; it gets the password as its standard input."""


@manifest
class PasswordGenerator:
    """A password that an apply makes up."""

    to: PasswordSink
    """The place that gets it before the cluster does; it is never printed."""
    length: Annotated[int, IntRange(MIN_GENERATED, MAX_GENERATED, 32)] = DEFAULT_GENERATED
    """The number of its characters, which are letters and digits."""


@manifest
class PasswordReference:
    """The place of a password: exactly one of these, and never the password itself."""

    env: Annotated[Text | None, NotNull()] = None
    """The environment variable that holds it when the plan is applied."""
    file: Annotated[Text | None, NotNull()] = None
    """The file that holds it; a relative path begins at the project's folder, and one line break
    at the end does not count."""
    command: Annotated[Command | None, NotNull()] = None
    """A program and its arguments, without a shell; it prints the password."""
    generate: Annotated[PasswordGenerator | None, NotNull()] = None
    """A new password is made up each time that it is set."""
    unknown: Annotated[Literal[True] | None, NotNull()] = None
    """Always true: kgitops knows no source of the password and can't set it. An export writes
    this."""


@manifest
class DeclaredCredential:
    """One mechanism that the user can log in by."""

    mechanism: Annotated[ScramMechanism, EnumName(ScramMechanism)]
    """SCRAM-SHA-512 or SCRAM-SHA-256."""
    iterations: Annotated[int, IntRange(MIN_ITERATIONS, MAX_ITERATIONS, DEFAULT_ITERATIONS)] = (
        DEFAULT_ITERATIONS
    )
    """The number of times that the password is hashed, from 4096 to 16384."""
    password: Annotated[PasswordReference, WithoutValues(), FreeText()]
    """The place of the password. An apply reads it just before it sets it, and keeps nothing of
    it."""
    version: Annotated[Text | None, NotNull(), FreeText()] = None
    """Any text. Changing it, and nothing else, sets the password again."""


@manifest
class UserMetadata(Metadata):
    """The metadata of a user."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the user must be a member of; none if left out, or kafka-cluster."""


@manifest
class UserSpec:
    """The credentials of a user."""

    scram: Annotated[list[DeclaredCredential], MinLen(1)]
    """The mechanisms, each at most once."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Protect (the default) refuses the plan, Delete takes
    the declared mechanisms away, Orphan leaves them."""


@manifest
class User:
    """A user who logs in by SCRAM: the principal User:NAME.

    Example:
        apiVersion: kgitops/v1
        kind: User
        metadata: {name: sales-app}
        spec:
          scram:
            - mechanism: SCRAM-SHA-512
              iterations: 8192
              password: {env: SALES_APP_PASSWORD}
              version: "2026-11"
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["User"]
    """The kind of the document."""
    metadata: UserMetadata
    """The metadata of the document."""
    spec: UserSpec
    """The credentials."""
