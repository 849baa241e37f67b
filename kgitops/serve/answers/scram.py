"""AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554), and SASL with no login.

Logins themselves are answered before requests come here (``kgitops.serve.login``).
"""

from kgitops.cluster.embedded.controls.scram import (
    ScramDeletion,
    ScramUpsertion,
    UserScramCredentials,
)
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.protocol_codes import SCRAM_MECHANISMS, SCRAM_TYPES
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import message_of
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message


def alter_user_scram_credentials(call: ApiCall, request: Message) -> Message:
    """One result for each user."""
    results = call.admin.alter_user_scram_credentials(
        deletions=[
            ScramDeletion(user=item.name, mechanism=SCRAM_MECHANISMS.get(item.mechanism))
            for item in request.deletions
        ],
        upsertions=[
            ScramUpsertion(
                user=item.name,
                mechanism=SCRAM_MECHANISMS.get(item.mechanism),
                iterations=item.iterations,
                salt=item.salt,
                salted_password=item.salted_password,
            )
            for item in request.upsertions
        ],
    )
    response = messages.AlterUserScramCredentialsResponse
    return response(
        results=[
            response.AlterUserScramCredentialsResult(
                user=user, error_code=result.code, error_message=message_of(result)
            )
            for user, result in results.items()
        ]
    )


def describe_user_scram_credentials(call: ApiCall, request: Message) -> Message:
    """The mechanisms and iterations of the users that were asked for, or of all."""
    response = messages.DescribeUserScramCredentialsResponse
    users = None if request.users is None else [user.name for user in request.users]
    try:
        described = call.admin.describe_user_scram_credentials(users)
    except Refusal as refusal:
        result = refusal.result
        return response(error_code=result.code, error_message=message_of(result))
    return response(results=list(map(_row, described)))


def _row(user: UserScramCredentials) -> Message:
    response = messages.DescribeUserScramCredentialsResponse
    return response.DescribeUserScramCredentialsResult(
        user=user.user,
        error_code=user.result.code,
        # Not null, which Kafka answers where there is an error.
        error_message=message_of(user.result) or "",
        credential_infos=[
            response.CredentialInfo(mechanism=SCRAM_TYPES[mechanism], iterations=iterations)
            for mechanism, iterations in user.iterations.items()
        ],
    )


def sasl_handshake(call: ApiCall, request: Message) -> Message:  # noqa: ARG001 (as its siblings)
    """Refused: the client is logged in, or the listener has no SASL."""
    return messages.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def sasl_authenticate(call: ApiCall, request: Message) -> Message:  # noqa: ARG001 (as its siblings)
    """Refused, too."""
    return messages.SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
