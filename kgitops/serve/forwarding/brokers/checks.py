"""Checks of a broker before it forwards: configs of another broker are not its to change (F590-27).

As Kafka's ConfigAdminManager has it: what is refused here gets its own result, and only the rest of
the request goes to the controller.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kgitops.model.results import ErrorCode
from kgitops.wire.messages import Message, message_class

_ALTER_CONFIGS = frozenset({"AlterConfigs", "IncrementalAlterConfigs"})
_BROKER, _BROKER_LOGGER = 4, 8
"""org.apache.kafka.common.config.ConfigResource.Type"""


class CheckedRequest(Struct, frozen=True):
    """A request of which the broker has refused some resources, by their place in it."""

    request: Message
    refused: Mapping[int, Message]

    @property
    def rest(self) -> Message:
        """The request for the controller; it may be about no resource any more."""
        resources = self.request.resources
        kept = [item for index, item in enumerate(resources) if index not in self.refused]
        return msgspec.structs.replace(self.request, resources=kept)

    def complete(self, response: Message) -> Message:
        """The answer of the controller with the broker's own results in their places."""
        decided = iter(response.responses)
        rows = [
            self.refused[index] if index in self.refused else next(decided)
            for index in range(len(self.request.resources))
        ]
        return msgspec.structs.replace(response, responses=rows)


def check_at_broker(api: str, request: Message, broker: int) -> CheckedRequest | None:
    """Check a request about configs; None if the broker has nothing against it."""
    if api not in _ALTER_CONFIGS:
        return None
    row = message_class(f"{api}Response").AlterConfigsResourceResponse
    refused = {
        index: row(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=problem,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for index, resource in enumerate(request.resources)
        if (problem := _problem(resource, broker)) is not None
    }
    return CheckedRequest(request, refused) if refused else None


def _problem(resource: Message, broker: int) -> str | None:
    name = resource.resource_name
    ours = resource.resource_type == _BROKER_LOGGER or (resource.resource_type == _BROKER and name)
    if not ours or name == str(broker):
        return None
    try:
        int(name)
    except ValueError:
        return f"Node id must be an integer, but it is: {name}"
    if resource.resource_type == _BROKER_LOGGER:
        return f"Unexpected node id. Expected {broker}, but received {name}"
    return f"Unexpected broker id, expected {broker}, but received {name}"
