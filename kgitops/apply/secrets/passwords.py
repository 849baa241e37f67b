"""The passwords of one run: checked before anything is sent, read and salted when they are due."""

import hashlib
import os
import secrets
import string
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

from msgspec import Struct, field

from kgitops.apply.secrets.commands import give_to
from kgitops.apply.secrets.core_dumps import forbid_core_dumps
from kgitops.apply.secrets.reading import read_secret, source_problem
from kgitops.model import requests as req
from kgitops.model.cluster_state import Capabilities
from kgitops.model.errors import KgitopsError, SafetyError
from kgitops.model.resources.secrets import SaltedPassword, Secret
from kgitops.model.resources.users import (
    MIN_ITERATIONS,
    UNKNOWN_PASSWORD,
    GeneratedPassword,
    ScramMechanism,
)
from kgitops.model.wording import counted
from kgitops.plan.document.plan import PlannedRequest

_SALT_BYTES = 24


class PasswordSettings(Struct, frozen=True, kw_only=True):
    """The limits of an apply that needs passwords; relative paths begin at ``base``.

    ``allow_plaintext``: a salted password may travel where others could read it. ``may_act``: the
    plan may start programs and write files; whoever writes a plan's file could name any.
    """

    base: Path = field(default_factory=Path)
    allow_plaintext: bool = False
    may_act: bool = False


def sets_password(
    request: req.Request | None,
) -> TypeGuard[req.AlterUserScramCredentialsRequest]:
    """Return whether the request needs a password."""
    return isinstance(request, req.AlterUserScramCredentialsRequest) and not request.removes


def is_made_up(request: req.Request | None) -> bool:
    """Return whether the request needs a password that the apply makes up."""
    source = request.password if sets_password(request) else None
    return source is not None and source.generate is not None


def variables_of(requests: Iterable[PlannedRequest]) -> frozenset[str]:
    """Return the environment variables that hold passwords for these requests."""
    sources = (
        planned.request.password
        for planned in requests
        if isinstance(planned.request, req.AlterUserScramCredentialsRequest)
    )
    return frozenset(source.env for source in sources if source and source.env)


def check_passwords(
    requests: Iterable[req.Request | None], settings: PasswordSettings, capabilities: Capabilities
) -> None:
    """Check that every password can be had, and that it is safe on its way and in this process.

    Raises:
        SafetyError: the connection is not private, or the plan may not start programs.
        KgitopsError: one is missing or empty; each is named.
    """
    due = list(filter(sets_password, requests))
    if not due:
        return
    if not (capabilities.private or settings.allow_plaintext):
        raise SafetyError(
            f"the passwords of {counted(len(due), 'user')} would go to the cluster without TLS, "
            "and a salted password is as good as the password; use security.protocol SASL_SSL or "
            "SSL, or pass --allow-plaintext-secrets"
        )
    acting = [request for request in due if request.password and request.password.acts]
    if acting and not settings.may_act:
        raise SafetyError(
            f"{req.request_address(acting[0])}: the plan names a program or file for its password "
            f"({acting[0].password}), and a plan's file could name any; review it and pass "
            "--allow-secret-commands, or apply the manifests themselves"
        )
    forbid_core_dumps()
    problems = list(_problems(due, settings.base))
    if problems:
        raise KgitopsError(f"{'; '.join(problems)}; nothing was sent: set them and apply again")


def _problems(due: Iterable[req.AlterUserScramCredentialsRequest], base: Path) -> Iterator[str]:
    for request in due:
        problem = source_problem(request.password or UNKNOWN_PASSWORD, base)
        if problem is not None:
            address = req.request_address(request)
            yield f"{address} has no password for {request.mechanism}: {problem}"


def with_password(request: req.Request, settings: PasswordSettings) -> req.Request:
    """Return the request with its password read and salted; others as they are.

    Raises:
        KgitopsError: there is none.
    """
    if not sets_password(request):
        return request
    source = request.password or UNKNOWN_PASSWORD
    try:
        if source.generate is not None:
            secret = generate(source.generate, settings.base)
        else:
            secret = read_secret(source, settings.base)
    except KgitopsError as error:
        address = req.request_address(request)
        raise KgitopsError(f"{address}: {request.mechanism}: {error}") from None
    return req.SaltedCredentialsRequest(
        user=request.user,
        mechanism=request.mechanism,
        iterations=request.iterations,
        password=request.password,
        virtual_cluster=request.virtual_cluster,
        labels=request.labels,
        salted=salt(secret, request.mechanism, request.iterations or MIN_ITERATIONS),
    )


def salt(secret: Secret, mechanism: ScramMechanism, iterations: int) -> SaltedPassword:
    """Salt a password again and hash it, as clients of Kafka do (RFC 5802, KIP-554)."""
    fresh = secrets.token_bytes(_SALT_BYTES)
    return SaltedPassword(
        fresh, hashlib.pbkdf2_hmac(mechanism.hash_name, secret.reveal(), fresh, iterations)
    )


_CHARACTERS = string.ascii_letters + string.digits


def generate(generated: GeneratedPassword, base: Path) -> Secret:
    """Make up a password and hand it to its sink; it is printed nowhere.

    Raises:
        KgitopsError: the sink did not take it.
    """
    secret = Secret("".join(secrets.choice(_CHARACTERS) for _ in range(generated.length)).encode())
    if generated.command is not None:
        give_to(generated.command, base, secret)
    else:
        _write(base / (generated.file or ""), secret)
    return secret


def _write(path: Path, secret: Secret) -> None:
    """Replace the file as a whole; nobody but its owner may read it.

    The draft's name is always the same, so that one which a killed process left behind goes.
    """
    draft = path.with_name(f".{path.name}.kgitops-draft")
    try:
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret.reveal())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> KgitopsError:
    return KgitopsError(
        f"the generated password can't be written to {path}: {error.strerror}; correct the path"
    )
