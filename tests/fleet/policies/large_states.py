"""What tests of large states share: random states with all that policies see, saved in pieces."""

import pickle
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from builders import a_desired, a_quota, a_topic, an_owner
from hypothesis import strategies as st
from model.request_strategies import offsets

from kgitops.fleet.policies.lazy_state import lazy_cluster_state
from kgitops.fleet.tables.format import STATE
from kgitops.fleet.tables.state_rows import state_rows
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.registry import RegistryState
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster

BROKERS = tuple(Broker(id=number, rack=f"r{number}") for number in (1, 2, 3))
NAMES = ("orders", "orders.eu", "billing", "new", "other", "__consumer_offsets", "__kgitops")
ENTITIES = tuple((("user", name),) for name in ("alice", "bob", None))

configs = st.fixed_dictionaries(
    {},
    optional={
        "retention.ms": st.sampled_from(("1", "604800000")),
        # What readers search for in the text of a topic.
        "marked_for_deletion": st.sampled_from(("false", '"marked_for_deletion":false', "ä\\")),
    },
)
assignments = st.lists(st.sampled_from(((1, 2), (2, 3), (3,))), min_size=1, max_size=4).map(tuple)
names = st.sampled_from(NAMES)
bindings = st.builds(
    AclBinding,
    resource_type=st.just(ResourceType.TOPIC),
    resource_name=names | st.just("*"),
    pattern_type=st.sampled_from(PatternType),
    principal=st.sampled_from(("User:alice", "User:bob")),
    host=st.just("*"),
    operation=st.sampled_from((Operation.READ, Operation.WRITE)),
    permission_type=st.sampled_from(PermissionType),
)
rates = st.dictionaries(
    st.sampled_from(("producer_byte_rate", "request_percentage")),
    st.integers(1, 100).map(float),
    min_size=1,
)
topics = st.builds(
    TopicState,
    name=names,
    topic_id=st.just("id"),
    assignment=assignments,
    configs=configs,
    marked_for_deletion=st.booleans(),
)


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    """Clusters with all that policies can see."""
    found = draw(st.lists(topics, max_size=7, unique_by=lambda topic: topic.name))
    quotas = draw(st.dictionaries(st.sampled_from(ENTITIES), rates))
    linked = draw(st.sets(names, max_size=2))
    owned = draw(st.sets(names))
    return ClusterState(
        cluster_id="test",
        backend="embedded",
        brokers=BROKERS,
        topics={topic.name: topic for topic in found},
        acls=frozenset(draw(st.sets(bindings, max_size=4))),
        quotas={
            entity: ClientQuotaState(entity=entity, quotas=held) for entity, held in quotas.items()
        },
        broker_defaults=draw(configs),
        virtual_clusters={
            "emea": VirtualCluster(
                name="emea",
                users=frozenset({"User:alice"}),
                links={name: TopicLink(name=name, topic=name) for name in linked},
            )
        },
        registry=RegistryState(
            topic_id="r",
            offset=7,
            owners={f"topic/{name}": an_owner(a_topic(name)) for name in owned},
        ),
    )


@st.composite
def requested(draw: st.DrawFn, name: str) -> RequestedTopicState:
    asked = draw(configs)
    return RequestedTopicState(
        name=name,
        topic_id="id",
        assignment=draw(assignments),
        configs=asked,
        requested_configs=asked,
    )


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Requests of every kind whose objects may be in the state or not."""
    name = draw(names)
    return draw(
        st.one_of(
            st.builds(CreateTopicRequest, topic=st.just(name), requested_state=requested(name)),
            st.builds(
                AlterTopicRequest,
                topic=st.just(name),
                topic_id=st.just("id"),
                step=st.sampled_from(AlterStep),
                requested_state=requested(name),
            ),
            st.builds(DeleteTopicRequest, topic=st.just(name), topic_id=st.just("id")),
            st.builds(
                DeleteRecordsRequest,
                topic=st.just(name),
                topic_id=st.just("id"),
                deleted_message_offsets=st.dictionaries(st.integers(0, 3), offsets, min_size=1),
            ),
            st.builds(CreateAclRequest, binding=bindings),
            st.builds(DeleteAclRequest, binding=bindings),
            st.builds(
                AlterClientQuotaRequest,
                entity=st.sampled_from(ENTITIES),
                quotas=st.dictionaries(
                    st.sampled_from(("producer_byte_rate", "request_percentage")),
                    st.none() | st.integers(1, 100).map(float),
                    min_size=1,
                ),
            ),
        )
    )


def save(state: ClusterState, folder: Path, rows: int = 3) -> list[Path]:
    """The state as two files of small pieces."""
    table = pa.Table.from_pylist(list(state_rows(state)), STATE)
    half = table.num_rows // 2
    files = [folder / "a.parquet", folder / "b.parquet"]
    for file, part in zip(files, (table.slice(0, half), table.slice(half)), strict=True):
        pq.write_table(part, file, row_group_size=rows, write_page_checksum=True)
    return files


def shown(
    state: ClusterState, files: Sequence[Path], asked: Sequence[Request], more: Collection[str] = ()
) -> ClusterState:
    """The state at large, as another process gets it; what is ``asked`` about is at hand."""
    touched = {getattr(request, "topic", None) for request in asked} | set(more)
    entities = {getattr(request, "entity", None) for request in asked}
    current = ClusterState(
        cluster_id=state.cluster_id,
        backend=state.backend,
        brokers=state.brokers,
        topics={name: topic for name, topic in state.topics.items() if name in touched},
        quotas={entity: held for entity, held in state.quotas.items() if entity in entities},
        broker_defaults=state.broker_defaults,
        virtual_clusters=state.virtual_clusters,
        registry=state.registry,
    )
    desired = a_desired(
        *(a_topic(name) for name in sorted(touched - {None})),
        *(a_quota(entity) for entity in entities - {None}),
    )
    travelling = pickle.dumps(lazy_cluster_state(current, desired, files, "prod"))
    large: ClusterState = pickle.loads(travelling)  # noqa: S301 (written above)
    return large
