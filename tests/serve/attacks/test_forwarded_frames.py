"""The largest requests that brokers take: they reach the controller as any other."""

import pytest
from serve.plain_requests import request_of
from serve.served import served

from kgitops.model.results import ErrorCode
from kgitops.wire.apis import apis, keys
from kgitops.wire.frames import request_frame
from kgitops.wire.messages import Message

MOST = 8192


def creation(padding: int) -> Message:
    """A CreateTopics that is as much longer, with a config that there is not."""
    config = {"name": "no.such.config", "value": "x" * padding}
    topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1, "configs": config}
    return request_of("CreateTopics", {"topics": topic, "timeout_ms": 9999})


@pytest.mark.parametrize("key", ["socket.request.max.bytes", "queued.max.request.bytes"])
def test_an_envelope_is_larger_than_what_is_in_it(key: str) -> None:
    """Else the controller would close the connection that all clients of a broker share."""
    api = apis()[keys()["CreateTopics"]]
    least = len(request_frame(api, 7, 1, "raw", creation(1000))) - 4
    with served(static_configs={key: str(MOST)}) as brokers, brokers.client() as client:
        answer = client.ask("CreateTopics", 7, creation(1000 + MOST - least))
        assert answer.topics[0].error_code == ErrorCode.INVALID_CONFIG
