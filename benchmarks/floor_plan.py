"""The floor of a plan: parse the same YAML with libyaml, read the same cluster at the least cost.

One socket; DescribeConfigs v4 without synonyms, 100 topics a request and eight on their way,
decoded by kio; Metadata, ACLs and quotas once. Nothing is compared.
"""

import gc
import io
import socket
import struct
import sys
from collections import deque
from pathlib import Path

import yaml
from kio.schema.describe_acls.v3 import request as acls_request
from kio.schema.describe_acls.v3 import response as acls_response
from kio.schema.describe_client_quotas.v1 import request as quotas_request
from kio.schema.describe_client_quotas.v1 import response as quotas_response
from kio.schema.describe_configs.v4 import request as configs_request
from kio.schema.describe_configs.v4 import response as configs_response
from kio.schema.metadata.v12 import request as metadata_request
from kio.schema.metadata.v12 import response as metadata_response
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8

TOPIC, ANY, DYNAMIC_TOPIC_CONFIG = i8(2), i8(1), 1


class Connection:
    def __init__(self, server: str) -> None:
        host, _, port = server.partition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.stream = self.socket.makefile("rb", buffering=1 << 20)

    def send(self, request: object) -> None:
        body = io.BytesIO()
        entity_writer(type(request))(body, request)
        header = struct.pack(">hhih", request.__api_key__, request.__version__, 1, -1) + b"\0"
        message = header + body.getvalue()
        self.socket.sendall(struct.pack(">i", len(message)) + message)

    def receive(self, kind: type) -> object:
        (size,) = struct.unpack(">i", self.stream.read(4))
        return entity_reader(kind)(self.stream.read(size), 5)[0]

    def ask(self, request: object, kind: type) -> object:
        self.send(request)
        return self.receive(kind)


def main() -> None:
    gc.disable()
    server, manifests = sys.argv[1].split(",")[0], Path(sys.argv[2])
    for path in sorted(manifests.rglob("*.yaml")):
        with path.open("rb") as file:
            for _ in yaml.load_all(file, yaml.CSafeLoader):
                pass
    connection = Connection(server)
    every = metadata_request.MetadataRequest(
        topics=None,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    metadata = connection.ask(every, metadata_response.MetadataResponse)
    names = [topic.name for topic in metadata.topics]
    kept: dict[str, dict[str, str]] = {}
    waiting: deque[None] = deque()
    for start in range(0, len(names), 100):
        connection.send(
            configs_request.DescribeConfigsRequest(
                resources=tuple(
                    configs_request.DescribeConfigsResource(
                        resource_type=TOPIC, resource_name=name, configuration_keys=None
                    )
                    for name in names[start : start + 100]
                ),
                include_synonyms=False,
                include_documentation=False,
            )
        )
        waiting.append(None)
        if len(waiting) == 8:
            waiting.popleft()
            keep(connection, kept)
    for _ in waiting:
        keep(connection, kept)
    anything = acls_request.DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    connection.ask(anything, acls_response.DescribeAclsResponse)
    quotas = quotas_request.DescribeClientQuotasRequest(components=(), strict=False)
    connection.ask(quotas, quotas_response.DescribeClientQuotasResponse)
    print(len(kept))


def keep(connection: Connection, kept: dict[str, dict[str, str]]) -> None:
    answer = connection.receive(configs_response.DescribeConfigsResponse)
    for topic in answer.results:
        kept[topic.resource_name] = {
            entry.name: entry.value
            for entry in topic.configs
            if entry.config_source == DYNAMIC_TOPIC_CONFIG
        }


if __name__ == "__main__":
    main()
