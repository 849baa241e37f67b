"""Decides AlterUserScramCredentials and answers DescribeUserScramCredentials (KIP-554).

The orders and messages are those of ScramControlManager and ScramImage.
"""

import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import ScramCredential
from kgitops.cluster.embedded.image.records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope


class ScramUpsertion(Struct, frozen=True, kw_only=True):
    """A new or changed credential; the client has salted and hashed the password.

    ``mechanism`` is None where the client named none that Kafka knows.
    """

    user: str
    mechanism: ScramMechanism | None
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"ScramUpsertion(user={self.user!r}, mechanism={self.mechanism!r})"


class ScramDeletion(Struct, frozen=True, kw_only=True):
    """A credential to remove."""

    user: str
    mechanism: ScramMechanism | None


class UserScramCredentials(Struct, frozen=True, kw_only=True):
    """The mechanisms that a user can log in by, with their iterations; or why they aren't told."""

    user: str
    result: RequestResult = OK
    iterations: Mapping[ScramMechanism, int] = {}


def alter_user_scram_credentials(
    draft: Draft, deletions: Sequence[ScramDeletion], upsertions: Sequence[ScramUpsertion]
) -> dict[str, RequestResult]:
    """One result for each user, who may be named once in a request."""
    may_alter = _visible(draft, Operation.ALTER, ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
    alterations: list[ScramDeletion | ScramUpsertion] = [*deletions, *upsertions]
    results: dict[str, RequestResult] = {}
    valid: dict[str, ScramDeletion | ScramUpsertion] = {}
    for item in alterations:
        if not may_alter(item.user):
            results[item.user] = _unauthorized(Operation.ALTER).result
        elif item.user not in results or results[item.user].ok:
            results[item.user] = attempt(_check, draft, item, twice=item.user in valid)
        valid[item.user] = item
    for user, item in valid.items():
        if results[user].ok:
            results[user] = attempt(_write, draft, item)
    return results


def describe_user_scram_credentials(
    draft: Draft, users: Sequence[str] | None
) -> list[UserScramCredentials]:
    """The credentials of these users, or of all.

    Raises:
        Refusal: the caller may see none (31).
    """
    may_describe = _visible(draft, Operation.DESCRIBE, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS)
    held = draft.image.scram.users
    asked = users or [user for user in held if may_describe(user)]
    times = Counter(asked)
    described = []
    for user in times:
        known = user in held and may_describe(user)
        result = attempt(_check_described, user, twice=times[user] > 1, known=known)
        credentials = held[user] if result.ok else {}
        iterations = {ScramMechanism(key): item.iterations for key, item in credentials.items()}
        described.append(UserScramCredentials(user=user, result=result, iterations=iterations))
    return described


def _check_described(user: str, *, twice: bool, known: bool) -> None:
    if twice:
        raise Refusal(
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: "
            f"{user}",
        )
    if not known:
        raise Refusal(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {user}",
        )


def _check(draft: Draft, item: ScramDeletion | ScramUpsertion, *, twice: bool) -> None:
    if twice:
        raise Refusal(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
    if not item.user:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if item.mechanism is None:
        raise Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    match item:
        case ScramDeletion():
            if item.mechanism not in draft.delta.scram.of(item.user):
                raise Refusal(
                    ErrorCode.RESOURCE_NOT_FOUND,
                    "Attempt to delete a user credential that does not exist",
                )
        case ScramUpsertion():
            if item.iterations < MIN_ITERATIONS:
                raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
            if item.iterations > MAX_ITERATIONS:
                raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
            if not item.salted_password:
                # No key can be derived from nothing; Kafka's controller does not expect it.
                raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)


def _write(draft: Draft, item: ScramDeletion | ScramUpsertion) -> None:
    mechanism = item.mechanism
    assert mechanism is not None  # noqa: S101 (it was checked)
    iterations = item.iterations if isinstance(item, ScramUpsertion) else None
    # Policies see neither the password nor anything derived from it.
    request = AlterUserScramCredentialsRequest(
        user=item.user, mechanism=mechanism, iterations=iterations
    )
    draft.judge(request)
    draft.write(_record(item))
    draft.accept(request)


def _record(
    item: ScramDeletion | ScramUpsertion,
) -> UserScramCredentialRecord | RemoveUserScramCredentialRecord:
    mechanism = item.mechanism
    assert mechanism is not None  # noqa: S101 (it was checked)
    match item:
        case ScramDeletion():
            return RemoveUserScramCredentialRecord(user=item.user, mechanism=mechanism.value)
        case ScramUpsertion():
            stored_key, server_key = scram_keys(mechanism, item.salted_password)
            return UserScramCredentialRecord(
                user=item.user,
                mechanism=mechanism.value,
                salt=_text(item.salt),
                stored_key=_text(stored_key),
                server_key=_text(server_key),
                iterations=item.iterations,
            )


def scram_keys(mechanism: ScramMechanism, salted_password: bytes) -> tuple[bytes, bytes]:
    """StoredKey and ServerKey of a salted password (RFC 5802 §3)."""
    name = mechanism.hash_name
    client_key = hmac.digest(salted_password, b"Client Key", name)
    stored_key = hashlib.new(name, client_key).digest()
    return stored_key, hmac.digest(salted_password, b"Server Key", name)


def is_password(held: ScramCredential, mechanism: ScramMechanism, secret: Secret) -> bool:
    """Return whether the credential is that of this password."""
    salt, stored_key = (base64.b64decode(text) for text in (held.salt, held.stored_key))
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, secret.reveal(), salt, held.iterations)
    return hmac.compare_digest(scram_keys(mechanism, salted)[0], stored_key)


def _visible(draft: Draft, operation: Operation, api_key: ApiKey) -> Callable[[str], bool]:
    """A test of the users that the caller has the right for.

    A right on a virtual cluster is one on the users that are bound to it (VC-160c).

    Raises:
        Refusal: the caller has the right for nobody (31).
    """
    if draft.authorizer.allows_cluster(operation):
        return lambda _: True
    administered = [
        virtual_cluster
        for name, virtual_cluster in draft.image.virtual_clusters.by_name.items()
        if draft.authorizer.allows_request(api_key, VirtualClusterScope(name))
    ]
    if not administered:
        raise _unauthorized(operation)
    return lambda user: any(f"User:{user}" in item.users for item in administered)


def _unauthorized(operation: Operation) -> Refusal:
    return Refusal(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        f"The request needs {operation.value.upper()} permission.",
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
