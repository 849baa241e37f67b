"""Name tables say what brokers that know virtual clusters answer to the same callers.

The embedded cluster is such brokers; beside it stands one that knows none, with the same requests.
"""

from collections.abc import Mapping
from contextlib import closing
from itertools import product
from pathlib import Path
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from lowering.fleets import LINKS, TOPICS, USERS, VIRTUAL_CLUSTERS, members
from lowering.scenario import create_topic
from tiers import examples

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.client.topic_requests import NewTopic
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.port import Cluster
from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.naming.registry_tables import read_name_tables
from kgitops.model import requests as req
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.virtual_clusters import generated_parts
from kgitops.model.results import ErrorCode

NATIVE = "embedded:?brokers=1&authorizer=none"
LOWERED = f"{NATIVE}&virtual.clusters=lowered"
CALLERS = tuple(product((*USERS, "User:nobody"), (None, *LINKS)))
changes = st.one_of(
    members(),
    members(),
    st.builds(create_topic, st.sampled_from(VIRTUAL_CLUSTERS), st.sampled_from(LINKS)),
    st.sampled_from(VIRTUAL_CLUSTERS).map(
        lambda name: req.DeleteVirtualClusterRequest(virtual_cluster=name)
    ),
)


def prepared(url: str) -> Cluster:
    """A cluster with the physical topics and three virtual clusters."""
    cluster = connect(url, base=Path())
    made = admin_of(cluster).create_topics(
        [NewTopic(name=name, num_partitions=1, replication_factor=1) for name in TOPICS]
    )
    assert all(result.ok for result in made.values()), made
    for name in VIRTUAL_CLUSTERS:
        assert ask(cluster, req.CreateVirtualClusterRequest(virtual_cluster=name))
    return cluster


def admin_of(
    cluster: Cluster, principal: str = "User:root", client_id: str | None = None
) -> EmbeddedAdmin:
    physical = getattr(cluster, "physical", cluster)
    assert isinstance(physical, EmbeddedCluster)
    return EmbeddedAdmin(physical.controller, principal=principal, client_id=client_id)


def ask(cluster: Cluster, request: req.Request) -> bool:
    (result,) = cluster.execute([request], validate_only=False, principal="User:root")
    return result.ok


@settings(max_examples=examples(60))
@given(st.lists(changes, min_size=4, max_size=16))
def test_a_caller_finds_the_same_names_for_the_same_topics(asked: list[req.Request]) -> None:
    """VC-010, VC-028, VC-029, VC-084, VC-111: who is where, all names that there are, and what
    they stand for."""
    with closing(prepared(NATIVE)) as native, closing(prepared(LOWERED)) as lowered:
        for request in asked:
            assert ask(native, request) == ask(lowered, request), request
        tables = read_name_tables(lowered)
        for principal, client_id in CALLERS:
            seen = seen_names(native, principal, client_id)
            table = tables.bind(principal, client_id)
            assert (table is None) == (seen == seen_names(native, "User:root", None))
            if table is not None:
                assert {n.decode(): common(t.decode()) for n, t in table.links.items()} == seen
        for table in tables.by_virtual_cluster.values():
            check_ids(table, lowered)
            check_prefix(table, tables.image.users, native)


def seen_names(native: Cluster, principal: str, client_id: str | None) -> dict[str, str]:
    """All topics that the caller finds, and what each is on brokers."""
    on_brokers = {topic.topic_id: topic.name for topic in admin_of(native).metadata(None)}
    found = admin_of(native, principal, client_id).metadata(None)
    return {
        topic.name: common(on_brokers[topic.topic_id])
        for topic in found
        if topic.error is ErrorCode.NONE and not is_internal(topic.name)
    }


def common(physical: str) -> str:
    """A physical name without the uuid that each cluster makes up itself."""
    parts = generated_parts(physical)
    return f"<uuid>.{parts[1]}" if parts else physical


def check_ids(table: NameTable, lowered: Cluster) -> None:
    """As brokers have them."""
    topics = lowered.read_state().topics
    assert {uuid_to_text(UUID(bytes=i)): t.decode() for i, t in table.topic_ids.items()} == {
        topics[name.decode()].topic_id: name.decode() for name in table.local_names
    }


def check_prefix(table: NameTable, users: Mapping[str, str], native: Cluster) -> None:
    """A member's group is what the table makes of it."""
    member = next((u for u, owner in users.items() if owner == table.virtual_cluster), None)
    if member is not None:
        assert admin_of(native, member).create_group("own").ok
        assert f"{table.prefix.decode()}own" in admin_of(native).list_groups()
