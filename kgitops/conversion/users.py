"""Declares users who log in by SCRAM for any tool; no password is ever copied."""

import hashlib
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.objects import Conversion, DeclaredDocument, SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Value
from kgitops.kinds.exports import Inline
from kgitops.model.registry import Json
from kgitops.model.resources.users import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism
from kgitops.model.source import Source

_PLAIN = re.compile(r"[a-z][a-z0-9-]*")
"""Names of which no two have the same variable."""


class CredentialSource(Struct, frozen=True):
    """A mechanism as a tool declares it; ``password`` is looked at, and never copied.

    ``generated``: the tool makes the password up if the source has none.
    """

    mechanism: str
    iterations: int
    password: Value | None = None
    version: str | None = None
    generated: bool = False


def declare_user(
    builder: ObjectBuilder,
    name: str,
    credentials: Sequence[CredentialSource],
    *,
    clusters: tuple[str, ...] = (),
) -> None:
    """Add a User; what is wrong with a mechanism, and each password, is a loss."""
    written: list[Json] = []
    for item in credentials:
        mechanism = item.mechanism.upper().replace("SHA512", "SHA-512").replace("SHA256", "SHA-256")
        if mechanism not in list(ScramMechanism):
            problem = f"{builder}: its mechanism is none of Kafka's for SCRAM"
            builder.lose(builder.value, problem, "declare it by hand")
            continue
        if not MIN_ITERATIONS <= item.iterations <= MAX_ITERATIONS:
            problem = f"{builder}: {item.iterations} iterations are more or fewer than Kafka takes"
            builder.lose(builder.value, problem, "correct it there")
            continue
        variable = password_variable(name, mechanism)
        _tell_password(builder, item, variable)
        written.append(
            Inline(
                {
                    "mechanism": mechanism,
                    "iterations": item.iterations,
                    "password": {"env": variable},
                    **({} if item.version is None else {"version": item.version}),
                }
            )
        )
    if written:
        builder.declare("User", name, {"scram": written}, clusters=clusters)


def password_variable(name: str, mechanism: str) -> str:
    """A variable's name that no other user and mechanism has: ``BILLING_APP_PASSWORD``."""
    words = re.sub(r"[^A-Z0-9]", "_", name.upper(), flags=re.ASCII)
    if not _PLAIN.fullmatch(name):
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8].upper()
        words = f"{'' if words[:1].isalpha() else 'USER_'}{words}_{digest}"
    return f"{words}_PASSWORD{'' if mechanism == ScramMechanism.SHA_512 else '_SHA_256'}"


def _tell_password(builder: ObjectBuilder, item: CredentialSource, variable: str) -> None:
    advice = f"the user is declared; set {variable} where a plan that sets it is applied"
    given = item.password
    if given is None and item.generated:
        builder.lose(builder.value, f"{builder}: its generated password is not known here", advice)
    elif given is not None and given.text() is not None and given.template() is None:
        builder.lose(given, f"{builder}: its password is a secret that was not copied", advice)


def password_variables(conversion: Conversion) -> list[str]:
    """The variables that converted users name, sorted."""
    return sorted(
        {
            credential["password"]["env"]
            for item in conversion.objects
            for document in item.documents
            if document.kind == "User" and not document.text
            for credential in document.spec["scram"]
        }
    )


def with_joined_users(conversion: Conversion) -> Conversion:
    """The conversion with the mechanisms of a user, which objects declare one by one, in one."""
    found: dict[tuple[str, ...], list[tuple[Source, DeclaredDocument]]] = {}
    for item in conversion.objects:
        for document in item.documents:
            if document.kind == "User" and not document.text:
                found.setdefault(_key(document), []).append((item.source, document))
    several = {key: users for key, users in found.items() if _differ(users)}
    files = tuple(
        replace(file, objects=tuple(_with_all(item, several) for item in file.objects))
        for file in conversion.files
    )
    return replace(conversion, files=files) if several else conversion


def _key(document: DeclaredDocument) -> tuple[str, ...]:
    return (document.name, *document.clusters)


def _differ(users: list[tuple[Source, DeclaredDocument]]) -> bool:
    """Return whether several objects declare the user, each another mechanism."""
    mechanisms = [item["mechanism"] for _, user in users for item in user.spec["scram"]]
    return len(users) > 1 and len(set(mechanisms)) == len(mechanisms)


def _with_all(
    item: SourceObject, several: dict[tuple[str, ...], list[tuple[Source, DeclaredDocument]]]
) -> SourceObject:
    documents = []
    for document in item.documents:
        users = several.get(_key(document)) if document.kind == "User" else None
        if users is not None:
            every = [credential for _, user in users for credential in user.spec["scram"]]
            documents.append(replace(document, spec={"scram": every}))
        else:
            documents.append(document)
    return replace(item, documents=tuple(documents))
