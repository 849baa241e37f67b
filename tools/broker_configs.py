"""Asks a Kafka broker for its configs, and writes their facts for the embedded cluster's brokers.

    kgitops sandbox start
    python tools/broker_configs.py 127.0.0.1:19092

A config is one line: the kind of resource, its name, type and default, whether it can be altered
only by a new start, and the broker's config that gives its default. The values that the broker was
started with are left out.
"""

import json
import socket
import sys
from pathlib import Path

from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read
from kgitops.wire.frames import request_frame, response_tags
from kgitops.wire.messages import Message

FACTS = Path(__file__).parents[1] / "kgitops/model/data/known_configs.jsonl"
_BROKER, _CLIENT_METRICS, _GROUP = 4, 16, 32
_DEFAULT = 5
_TYPES = (
    *("UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT"),
    *("LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"),
)


def main() -> None:
    """Write the facts of the broker that the command line names."""
    host, _, port = sys.argv[1].rpartition(":")
    lines = []
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        broker = _ask(connection, "DescribeCluster", 0).brokers[0].broker_id
        for kind, name in ((_BROKER, str(broker)), (_GROUP, "g"), (_CLIENT_METRICS, "m")):
            request = messages.DescribeConfigsRequest
            row = request.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None
            )
            asked = request(resources=[row], include_synonyms=True)
            (result,) = _ask(connection, "DescribeConfigs", 4, asked).results
            lines += [
                [
                    kind,
                    config.name,
                    _TYPES[config.config_type],
                    _default(config),
                    config.read_only,
                    _server_default(kind, config),
                ]
                for config in sorted(result.configs, key=lambda config: config.name)
                if config.config_type and not config.name.startswith("listener.name.")
            ]
    FACTS.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _server_default(kind: int, config: Message) -> str | None:
    names = (row.name for row in config.synonyms if kind == _GROUP and row.name != config.name)
    return next(names, None)


def _default(config: Message) -> str | None:
    for synonym in config.synonyms:
        if synonym.source == _DEFAULT and synonym.name == config.name:
            return str(synonym.value)
    return config.value if config.config_source == _DEFAULT else None


def _ask(connection: socket.socket, api: str, version: int, message: Message = None) -> Message:
    found = apis()[keys()[api]]
    request = message or messages.message_class(found.request)()
    connection.sendall(request_frame(found, version, 1, "kgitops", request))
    data = _exactly(connection, int.from_bytes(_exactly(connection, 4), "big"))
    response = messages.message_class(found.response)
    return read(response, version, data, 4 + response_tags(found, version))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data


if __name__ == "__main__":
    main()
