"""Requests that describe groups of the newer kinds, which kafka-python does not know."""

from collections.abc import Sequence

from kgitops.cluster.kafka.transport.decoded import DecodedRequest
from kgitops.wire.codec import read, write
from kgitops.wire.definitions import definition
from kgitops.wire.messages import Message, message_class


def describe_groups(api: str, version: int, groups: Sequence[str]) -> DecodedRequest[Message]:
    """Build the request of an API such as ``ShareGroupDescribe`` for these groups."""
    request, response = f"{api}Request", message_class(f"{api}Response")
    key = definition(request).key
    if key is None:
        raise ValueError(f"{request} is no request")
    asked = message_class(request)(group_ids=list(groups), include_authorized_operations=False)
    body = bytes(write(asked, version))
    return DecodedRequest(request, key, version, body, lambda data: read(response, version, data))
