"""``kind: User``: a user who logs in by SCRAM, whose passwords are never in a document.

Kafka tells mechanisms and iterations and nothing else, so that a password is set again only where
the document's version differs from the one that was last applied.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from annotated_types import MinLen
from msgspec.structs import replace
from pydantic import GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.desired.findings import Findings, Path, scope_of
from kgitops.kinds.base import Requested, Values, ValuesKind
from kgitops.kinds.credentials import (
    Credentials,
    changed_fields,
    credentials_after,
    is_renewed,
    iterations_field,
    iterations_path,
    last_credentials,
    lockouts,
)
from kgitops.kinds.exports import Exporting, ExportNotes, Inline, Item, as_document, written_policy
from kgitops.manifests.kinds.fields import (
    REFUSED,
    EnumName,
    FreeText,
    IntRange,
    NotNull,
    Text,
    manifest,
)
from kgitops.manifests.kinds.parts import Metadata
from kgitops.manifests.yaml.document import Document, shown
from kgitops.manifests.yaml.placeholders import takes_from_env
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredCredential,
    DesiredMember,
    DesiredUser,
    Record,
    credentials_of,
)
from kgitops.model.registry import Json
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.kinds import CREDENTIALS, Kind
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.users import (
    DEFAULT_GENERATED,
    DEFAULT_ITERATIONS,
    MAX_GENERATED,
    MAX_ITERATIONS,
    MIN_GENERATED,
    MIN_ITERATIONS,
    UNKNOWN_PASSWORD,
    FoundUser,
    GeneratedPassword,
    PasswordSource,
    ScramIterations,
    ScramMechanism,
    user_principal,
)
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.source import Finding
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.draft import PlanDraft
from kgitops.plan.phases import Phase
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    last_applied_before,
    owner_after,
    releases_ownership,
    requests_of,
)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX = "User:"
_ONE_OF = "write one of env, file, command, generate and unknown"
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


class UserKind(ValuesKind[DesiredUser]):
    """The users who log in by SCRAM: by mechanism, the number of its iterations."""

    declares, field = DesiredUser, "scram"
    files = "users"
    adopted, removed, forgotten = risks.USER_ADOPT, risks.USER_DELETE, risks.USER_FORGET
    phases = Phase.USER, Phase.USER_REMOVE

    @classmethod
    def build(cls, declared: User, document: Document, findings: Findings) -> Sequence[DesiredUser]:
        """Return the user in normal form."""
        name, spec = declared.metadata.name, declared.spec
        scope = scope_of(declared.metadata.virtual_cluster)
        _check_user_name(name, document, findings)
        credentials: dict[ScramMechanism, DesiredCredential] = {}
        for index, item in enumerate(spec.scram):
            path: Path = ("spec", "scram", index)
            if item.mechanism in credentials:
                problem = f"{item.mechanism} is declared twice"
                advice = "keep one: Kafka holds one password of each mechanism"
                findings.error(document, (*path, "mechanism"), problem, advice)
            credentials[item.mechanism] = DesiredCredential(
                iterations=item.iterations,
                password=_source(item.password, document, (*path, "password"), findings),
                version=item.version,
            )
        user = DesiredUser(
            address=user_address(name),
            name=name,
            credentials={key: credentials[key] for key in ScramMechanism if key in credentials},
            virtual_cluster=scope,
            deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
            deletion_policy_written=spec.deletion_policy is not None,
            labels=declared.metadata.labels,
            located=document,
        )
        return [user]

    def plan(self) -> PlanDraft:
        """Plan every difference; kgitops' own login is left unchanged."""
        context = self.context
        desired, draft = context.desired, context.draft
        if Kind.USER not in context.current.asked:
            if desired.of(DesiredUser) or any(True for _ in context.ownership.mine(CREDENTIALS)):
                draft.refuse(
                    "the users of this cluster were not read, so declared and managed users can't "
                    "be planned; take the snapshot with --users"
                )
            return draft
        super().plan()
        for sentence in lockouts(draft.changes, context.client, desired.principal):
            draft.refuse(sentence)
        return draft

    def existing(self) -> Iterable[str]:
        """Return the addresses of all users."""
        return (user_address(user.name) for user in self.current.of(FoundUser))

    def fits(self, item: DesiredUser) -> bool:
        """Return whether the user is a member of its virtual cluster, or becomes one (VC-160c)."""
        context, name = self.context, item.virtual_cluster
        if name is None:
            return True
        principal = user_principal(item.name)
        known = self.current.virtual_clusters.get(name)
        declared = any(
            member.entity_type is EntityType.USER
            and (member.virtual_cluster, member.name) == (name, principal)
            for member in context.desired.of(DesiredMember)
        )
        if declared or (known is not None and principal in known.users):
            return True
        context.draft.findings.append(
            Finding(
                source=self.scope_place(item),
                problem=f"{item.address} is declared in the virtual cluster {name}, of which "
                f"{principal} is not a member",
                advice=f"add {principal} to the virtual cluster's users, or remove virtualCluster",
            )
        )
        return False

    @classmethod
    def values(cls, record: Record) -> Values:
        """Return the iterations by mechanism."""
        return {key: str(each["iterations"]) for key, each in record.get("scram", {}).items()}

    @classmethod
    def path(cls, key: str) -> str:
        """Return the path of a mechanism's iterations."""
        return iterations_path(ScramMechanism(key))

    def held(self, record: Record) -> Values:
        """Return the iterations of the mechanisms that the user has."""
        user = self.current.find(FoundUser, user_address(record["name"]))
        held = user.held if user else {}
        return {key.value: str(each) for key, each in held.items()}

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the user with its mechanisms."""
        scram = {
            key.value: {"iterations": int(values[key])} for key in ScramMechanism if key in values
        }
        return {"kind": "User", "name": record["name"], "scram": scram}

    def renewed(self, item: DesiredUser, managed: Record) -> frozenset[str]:
        """Return the mechanisms whose password has another version than the last applied one."""
        last = last_credentials(managed)
        return frozenset(
            key.value for key, each in item.credentials.items() if is_renewed(each, last.get(key))
        )

    def check(self, item: DesiredUser, requested: Requested) -> None:
        """Add a finding for each password that must be set and has no source."""
        for key, wanted in sorted(requested.items()):
            if wanted is None or item.credentials[ScramMechanism(key)].password.known:
                continue
            self.context.stop(
                item.address,
                Finding(
                    source=item.located.at("spec", "scram"),
                    problem=f"{item.address}: the password for {key} must be set, but it has no "
                    "source",
                    advice="write where it comes from, such as {env: VARIABLE}, in place of "
                    "{unknown: true}",
                ),
            )

    def expected_keys(self, record: Record, requested: Requested, held: Values) -> Iterable[str]:
        """Return all declared mechanisms: who lost one meanwhile could not log in."""
        del held
        return dict.fromkeys((*self.values(record), *requested))

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return a request for each mechanism; those that are set come before those that go."""
        name, scope = record["name"], record.get("virtualCluster")
        declared = credentials_of(record["scram"])
        made = []
        for key in sorted(requested, key=lambda each: (requested[each] is None, each)):
            mechanism = ScramMechanism(key)
            wanted = declared[mechanism] if requested[key] is not None else None
            made.append(
                AlterUserScramCredentialsRequest(
                    user=name,
                    mechanism=mechanism,
                    iterations=wanted.iterations if wanted else None,
                    password=wanted.password if wanted else None,
                    virtual_cluster=scope,
                )
            )
        return made

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each mechanism, by user."""
        for user, held in sorted((current.users or {}).items()):
            for mechanism, iterations in held.items():
                yield AlterUserScramCredentialsRequest(
                    user=user, mechanism=mechanism, iterations=iterations
                )

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every user, with what the project knows of the places of its passwords."""
        items: list[Item] = []
        for name, held in sorted((of.state.users or {}).items()):
            address = user_address(name)
            if not of.scope.may_declare(address):
                continue
            last = of.scope.last_applied(address)
            credentials = _exported(address, held, credentials_of(last.get("scram", {})), of.notes)
            if credentials:
                spec = {"scram": credentials, **written_policy(last)}
                at = last.get("virtualCluster")
                items.append(Item(name, [as_document("User", name, spec, at)]))
            elif held:
                of.notes.lost.add(address)
        return items

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a user's credentials."""
        del around
        before = change.before["scram"] if change.before else {}
        held = {ScramMechanism(key): item["iterations"] for key, item in before.items()}
        last = last_credentials(last_applied_before(change))
        given_up = releases_ownership(change)
        declared = {} if given_up else credentials_of(owner_after(change).last_applied["scram"])
        fields: list[FieldChange] = []
        gone: list[ScramMechanism] = []
        for request in requests_of(change):
            if not isinstance(request, AlterUserScramCredentialsRequest):
                raise ContradictionError("has a request for something else")
            mechanism = request.mechanism
            if request.iterations is None or request.password is None:
                gone.append(mechanism)
                risk = risks.USER_DELETE if given_up else risks.MECHANISM_REMOVE
                fields.append(iterations_field(mechanism, held, None, risk))
            else:
                wanted = replace(
                    declared[mechanism], iterations=request.iterations, password=request.password
                )
                fields += changed_fields(mechanism, wanted, held, last)
        after = {
            key.value: str(each) for key, each in credentials_after(held, declared, gone).items()
        }
        removal = risks.USER_DELETE if gone else risks.USER_FORGET
        return cls.shown_as(change, after, fields, removal=removal)


def _check_user_name(name: str, document: Document, findings: Findings) -> None:
    path = ("metadata", "name")
    if problem := text_problem(name):
        findings.error(document, path, f"the name {problem}", "shorten it")
    if name.startswith(_PREFIX):
        findings.warning(
            document,
            path,
            f"a user's name is without its principal's type, so {shown(name)} is a user whose "
            "name begins with 'User:'",
            f"write {shown(name.removeprefix(_PREFIX))}",
        )


def _source(
    given: PasswordReference, document: Document, path: Path, findings: Findings
) -> PasswordSource:
    """Return the source; a finding never shows more of it than the names of its fields."""
    named = [key for key in ("env", "file", "command", "generate", "unknown") if _has(given, key)]
    if len(named) != 1:
        problem = "the password comes from nowhere" if not named else f"has {' and '.join(named)}"
        findings.error(document, path, problem, _ONE_OF)
        return UNKNOWN_PASSWORD
    if refused := _not_for_a_plan(given, document, path):
        findings.error(document, path, *refused)
        return UNKNOWN_PASSWORD
    if given.env is not None and _VARIABLE.fullmatch(given.env) is None:
        findings.error(
            document,
            (*path, "env"),
            "that is not the name of an environment variable",
            "write a name of letters, digits and '_', such as SALES_APP_PASSWORD",
        )
        return UNKNOWN_PASSWORD
    generate = None
    if given.generate is not None:
        generate = _generated(given.generate, document, (*path, "generate", "to"), findings)
    return PasswordSource(
        env=given.env,
        file=given.file,
        command=None if given.command is None else tuple(given.command),
        generate=generate,
    )


def _has(given: object, key: str) -> bool:
    return getattr(given, key) is not None


def _generated(
    given: PasswordGenerator, document: Document, path: Path, findings: Findings
) -> GeneratedPassword:
    sink = given.to
    if (sink.file is None) == (sink.command is None):
        problem = "a generated password goes to a file or to a command"
        findings.error(document, path, problem, "write one of file and command")
    command = None if sink.command is None else tuple(sink.command)
    return GeneratedPassword(length=given.length, file=sink.file, command=command)


def _not_for_a_plan(
    given: PasswordReference, document: Document, path: Path
) -> tuple[str, str] | None:
    """The problem of a source that may hold a variable's value, and advice; None if it can't."""
    to = (*path, "generate", "to")
    sink = None if given.generate is None else given.generate.to
    values = [((*path, "env"), given.env), ((*path, "file"), given.file)]
    values += [((*path, "command", index), it) for index, it in enumerate(given.command or ())]
    if sink is not None:
        values.append(((*to, "file"), sink.file))
        values += [((*to, "command", index), it) for index, it in enumerate(sink.command or ())]
    written = [document.written(*place) for place, value in values if value is not None]
    if any(text is not None and takes_from_env(text) for text in written):
        return (
            "the value of an environment variable would stand in the plan",
            "write the variable's name as {env: NAME}, without ${env:…}",
        )
    if None in written:
        return (
            "it can't be told whether this is the value of an environment variable, which would "
            "stand in the plan",
            "write the document without %TAG",
        )
    return None


def _exported(
    address: str, held: ScramIterations, last: Credentials, notes: ExportNotes
) -> list[Json]:
    credentials: list[Json] = []
    for mechanism in ScramMechanism:
        if mechanism not in held:
            continue
        iterations = held[mechanism]
        applied = last.get(mechanism)
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            problem = f"{mechanism} has {iterations} iterations, which can't be declared"
            if applied is None:
                notes.add(address, f"{problem}; it is left out and stays as it is")
                continue
            # Without a declaration, it would be taken away.
            iterations = applied.iterations
            notes.add(address, f"{problem}; the {iterations} last applied are written instead")
        password = UNKNOWN_PASSWORD if applied is None else applied.password
        version = None if applied is None else applied.version
        credentials.append(
            {
                "mechanism": mechanism.value,
                "iterations": iterations,
                "password": Inline(_password(password)),
                **({"version": version} if version is not None else {}),
            }
        )
    return credentials


def _password(source: PasswordSource) -> dict[str, Json]:
    """The place of a password as ``_source`` reads it back."""
    if source.env is not None:
        return {"env": source.env}
    if source.file is not None:
        return {"file": source.file}
    if source.command is not None:
        return {"command": list(source.command)}
    made = source.generate
    if made is None:
        return {"unknown": True}
    to = {"file": made.file} if made.command is None else {"command": list(made.command)}
    return {"generate": Inline({"length": made.length, "to": Inline(to)})}
