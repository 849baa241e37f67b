"""A broker gets the same requests about a name of others as about one that nobody has.

So neither what it answers nor how long that takes tells a client which of the two a name is.
"""

from functools import partial

import pytest
from gateway.rewriting.frames import LINKS, Rewriter, api_of, table_of
from real_kafka.foreign_requests import Filled, told

from kgitops.gateway.rewriting.apis import used_in_virtual_clusters, versions_of
from kgitops.gateway.rewriting.exchange import Forward, LocalAnswer, RefusedFrameError
from kgitops.wire.apis import Api, apis
from kgitops.wire.codec import read
from kgitops.wire.frames import read_message, read_request, response_tags
from kgitops.wire.messages import Message, message_class

PREFIX = b"emea.sales:"
LOCAL, PHYSICAL, COMMON, ID = "Secret", "9d2e.Secret", "everybody.orders", "analytics:etl"
"""Of the other tenant a local name, a physical one and an id; and a topic that no link leads to."""
FOREIGN_ID, NOBODYS_ID = b"\x0a" * 16, b"\x0b" * 16
LOGINS = {"SaslHandshake", "SaslAuthenticate", "ApiVersions"}
TOPIC, GROUP = 2, 32
OWN_WORDS = {"StreamsGroupHeartbeat": 1}
"""Fields that are no names of Kafka, and get the word as well: tags that a client gives itself."""
_CORRELATION = 4
APIS = [apis()[key] for key in sorted(used_in_virtual_clusters()) if apis()[key].name not in LOGINS]


def shared_names() -> Rewriter:
    """A connection of a gateway that has learnt the id of the other tenant's topic from another."""
    client = Rewriter(table_of(LINKS))
    client.connection.topic_ids.learn(FOREIGN_ID, PHYSICAL.encode())
    return client


def asked(client: Rewriter, message: Message, version: int, name: str, topic_id: bytes) -> object:
    """The request that the broker gets, or the gateway's answer, without name and id."""
    try:
        found = client.send(message, version)
    except RefusedFrameError as error:
        return error.reason
    change = partial(anonymous, client=client, name=name, topic_id=topic_id)
    if isinstance(found, LocalAnswer):
        api = api_of(message)
        body = _CORRELATION + response_tags(api, version)
        return "gateway", told(read(message_class(api.response), version, found.body, body), change)
    assert isinstance(found, Forward)
    data = b"".join(found.chunks)
    word = name.encode()
    as_they_are = data.count(word) - data.count(PREFIX + word)
    assert as_they_are == OWN_WORDS.get(api_of(message).name, 0), "the broker gets it as it is"
    assert topic_id not in data
    exchange = found.exchange
    flags = (exchange.unknown, exchange.listing, exchange.protocol_type) if exchange else None
    return len(data), flags, told(read_message(read_request(data)), change)


def anonymous(value: object, client: Rewriter, name: str, topic_id: bytes) -> object:
    if isinstance(value, str):
        return value.replace(name, "*")
    if isinstance(value, bytes) and topic_id in (value, client.connection.masks.unmask(value)):
        return "the id"
    return value


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_brokers_are_asked_the_same(api: Api) -> None:
    """In every version, by every kind of name and by an id."""
    for version in versions_of(api):
        for name in (LOCAL, PHYSICAL, COMMON, ID):
            unknown = "u" * len(name)
            for resource_type in (TOPIC, GROUP):
                results = []
                for word, topic_id in ((name, FOREIGN_ID), (unknown, NOBODYS_ID)):
                    filled = Filled(word, topic_id, b"").request(api, version, resource_type)
                    results.append(asked(shared_names(), filled, version, word, topic_id))
                assert results[0] == results[1], f"{api.name} {version} about {name}"
