"""AlterUserScramCredentials: setting and removing what users log in by, one mechanism of each."""

from collections.abc import Sequence

from kafka.protocol.admin import AlterUserScramCredentialsRequest as WireRequest

from kgitops.cluster.kafka.answers import SEND_MS, answer
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import split_batches
from kgitops.model.requests import AlterUserScramCredentialsRequest, SaltedCredentialsRequest
from kgitops.model.resources.protocol_codes import SCRAM_TYPES
from kgitops.model.results import RequestResult


def alter_users(
    wire: Wire, requests: Sequence[AlterUserScramCredentialsRequest]
) -> list[RequestResult]:
    """Set or remove one mechanism of each user.

    A controller takes one alteration of a user in a request, so that a second one of the same user
    goes into another.

    Raises:
        ValueError: a password was not read; nothing was sent.
    """
    for request in requests:
        if not request.removes and not isinstance(request, SaltedCredentialsRequest):
            raise ValueError(f"the password of the user {request.user} was not read")
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=lambda _: 1, key=lambda request: request.user):
        response = wire.send(
            WireRequest(
                deletions=[_deletion(request) for request in batch if request.removes],
                upsertions=[
                    _upsertion(request)
                    for request in batch
                    if isinstance(request, SaltedCredentialsRequest)
                ],
            ),
            timeout_ms=SEND_MS,
            may_repeat=False,
        )
        rows = {row.user: row for row in response.results}
        results += [answer(rows.get(request.user), response) for request in batch]
    return results


def _deletion(request: AlterUserScramCredentialsRequest) -> Message:
    return WireRequest.ScramCredentialDeletion(
        name=request.user, mechanism=SCRAM_TYPES[request.mechanism]
    )


def _upsertion(request: SaltedCredentialsRequest) -> Message:
    salt, salted_password = request.salted.reveal()
    return WireRequest.ScramCredentialUpsertion(
        name=request.user,
        mechanism=SCRAM_TYPES[request.mechanism],
        iterations=request.iterations,
        salt=salt,
        salted_password=salted_password,
    )
