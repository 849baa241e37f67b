"""Every announced version of every request has an answer that can be read whole."""

from collections.abc import Iterator

import pytest
from serve.forwarding.requests import with_an_item
from serve.served import ServedCluster, served

from kgitops.cluster.embedded.options import Compat
from kgitops.wire.apis import apis
from kgitops.wire.errors import UnwritableMessageError
from kgitops.wire.messages import Message, message_class

NODES = {"broker": 1, "controller": 3000}
TRIED_ELSEWHERE = {"Envelope", "SaslHandshake", "SaslAuthenticate", "ApiVersions"}
"""Requests that only brokers send, that come in an order, or whose answer has a form of its own."""


@pytest.fixture(params=Compat, scope="module")
def brokers(request: pytest.FixtureRequest) -> Iterator[ServedCluster]:
    with served(compat=request.param) as started:
        yield started


def asked(api: str, version: int) -> Message:
    """A request with an item where the version has a place for it, else one about nothing."""
    made = with_an_item(api, version)
    if api == "Produce":
        made.acks = 1
    if api == "DescribeAcls":
        any_ = 1  # of each enumeration; the default 0 closes a connection
        made.resource_type_filter = made.operation = made.permission_type = any_
    return made


@pytest.mark.parametrize("kind", NODES)
def test_every_announced_version_is_answered(brokers: ServedCluster, kind: str) -> None:
    """KIP-511, KIP-896: fields that an old version has no place for are left out."""
    tried = 0
    with brokers.client(NODES[kind]) as client:
        request = message_class("ApiVersionsRequest")(
            client_software_name="a", client_software_version="1"
        )
        announced = client.ask("ApiVersions", 3, request).api_keys
        for row in announced:
            api = apis()[row.api_key].name
            if api in TRIED_ELSEWHERE:
                continue
            for version in range(row.min_version, row.max_version + 1):
                if api == "Produce" and version < 3:
                    continue  # announced by Kafka, too, which answers them with an error (KIP-896)
                try:
                    answer = client.ask(api, version, asked(api, version))
                except UnwritableMessageError:
                    answer = client.ask(api, version)
                assert type(answer).__name__ == f"{api}Response"
                tried += 1
    assert tried > {"broker": 150, "controller": 60}[kind]
