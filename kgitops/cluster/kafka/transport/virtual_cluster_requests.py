"""KIP-1134's five requests, which kafka-python does not know, with the private keys of kgitops.

They are experimental, as the proposal is. Only a served embedded cluster announces their keys.
"""

from kgitops.cluster.kafka.transport.decoded import DecodedRequest, decoded_value
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.wire.codec import read, write
from kgitops.wire.definitions import definition
from kgitops.wire.messages import Message, message_class

_VERSION = 0
_APIS = (
    "CreateVirtualClusters",
    "AlterVirtualClusters",
    "DeleteVirtualClusters",
    "ListVirtualClusters",
    "DescribeVirtualClusters",
)


def knows_virtual_clusters(wire: Wire) -> bool:
    """True if the brokers announce all five requests: their feature is on (VC-351)."""
    return all(wire.supports(_encoded(api, message_class(f"{api}Request")())) for api in _APIS)


def send(wire: Wire, api: str, request: Message, *, timeout_ms: int, may_repeat: bool) -> Message:
    """Send a request of an API such as ``ListVirtualClusters``, and return the answer.

    Raises:
        LockedError: the lease expired before it was sent.
        UnreachableError: there is no answer.
    """
    answer = wire.send(_encoded(api, request), timeout_ms=timeout_ms, may_repeat=may_repeat)
    return decoded_value(answer)


def _encoded(api: str, request: Message) -> DecodedRequest[Message]:
    key = definition(f"{api}Request").key
    if key is None:
        raise ValueError(f"{api} is no API")
    response = message_class(f"{api}Response")
    return DecodedRequest(
        f"{api}Request",
        key,
        _VERSION,
        bytes(write(request, _VERSION)),
        lambda data: read(response, _VERSION, data),
        begins_with_throttle=definition(f"{api}Response").fields[0].name == "ThrottleTimeMs",
    )
