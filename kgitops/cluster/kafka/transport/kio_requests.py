"""Requests that only kio knows: those that describe groups of the newer kinds."""

import io
import re
from collections.abc import Sequence
from importlib import import_module

from kio.schema.types import GroupId
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from kgitops.cluster.kafka.transport.decoded import DecodedRequest
from kgitops.cluster.kafka.transport.wire import Message


def describe_groups(api: str, version: int, groups: Sequence[str]) -> DecodedRequest[Message]:
    """Build the request of an API such as ``ShareGroupDescribe`` for these groups."""
    schema = f"kio.schema.{re.sub('(?<!^)(?=[A-Z])', '_', api).lower()}.v{version}"
    request = getattr(import_module(f"{schema}.request"), f"{api}Request")
    read = entity_reader(getattr(import_module(f"{schema}.response"), f"{api}Response"))

    def decode(data: bytes) -> Message:
        try:
            return read(data, 0)[0]
        except SerialError as error:
            raise ValueError(str(error)) from error

    body = io.BytesIO()
    ids = tuple(map(GroupId, groups))
    entity_writer(request)(body, request(group_ids=ids, include_authorized_operations=False))
    return DecodedRequest(f"{api}Request", request.__api_key__, version, body.getvalue(), decode)
