"""The laws of the embedded cluster: deciding changes nothing, replaying alone makes the state."""

import json
from contextlib import closing

import pytest
from cluster.clusters import a_cluster, a_grant, admin
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tiers import examples
from virtual_clusters.vc_requests import CLUSTERS, create, link
from virtual_clusters.vc_requests import NAMES as MEMBERS
from virtual_clusters.vc_requests import any_request as any_virtual_cluster_request

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.record_json import Json, record_from_json, record_to_json
from kgitops.cluster.embedded.image.records import ConfigRecord, Record
from kgitops.cluster.embedded.image.replay import replay
from kgitops.cluster.embedded.store.image_json import image_from_text, image_to_json
from kgitops.cluster.embedded.store.store import dump_json
from kgitops.model.requests import (
    NEW_UUID,
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import ErrorCode

NAMES = ("a", "b.c", "b_c", "d")
LEGAL = ((1, 2), (2, 3), (3, 1), (2, 1))
REPLICAS = (*LEGAL, (1, 2, 3), (1, 9), ())
CONFIGS = ({}, {"retention.ms": "1"}, {"cleanup.policy": "compact"}, {"retention.ms": "x"})
OPERATIONS = (Operation.READ, Operation.WRITE)


def states(draw: st.DrawFn, name: str) -> RequestedTopicState:
    configs = draw(st.sampled_from(CONFIGS))
    replicas = st.sampled_from(draw(st.sampled_from([LEGAL, LEGAL, REPLICAS])))
    return RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=tuple(draw(st.lists(replicas, min_size=1, max_size=3))),
        configs=configs,
        requested_configs=configs or {"retention.ms": None},
        generated_replica_assignments=draw(st.booleans()),
    )


@st.composite
def requests(draw: st.DrawFn, cluster: EmbeddedCluster) -> Request:
    """Any request, legal or not, most about things that are there."""
    topics = cluster.read_state().topics
    name = draw(st.sampled_from([*topics, *NAMES]))
    topic_id = topics[name].topic_id if name in topics else "none"
    assert topic_id is not None
    user = draw(st.sampled_from(["a", None]))
    value = draw(st.sampled_from([None, 1.0, 2.5, -1.0]))
    binding = a_grant(draw(st.sampled_from(OPERATIONS)), name=name)
    if draw(st.booleans()):
        binding = replace(binding, virtual_cluster=draw(st.sampled_from(CLUSTERS)))
    local = LocalName(draw(st.sampled_from(CLUSTERS)), draw(st.sampled_from(MEMBERS)))
    scope = draw(st.sampled_from([None, *CLUSTERS]))
    entity = {"user": user} if draw(st.booleans()) else {"virtual-cluster": scope}
    kinds = [
        CreateTopicRequest(topic=name, requested_state=states(draw, name)),
        AlterTopicRequest(
            topic=name,
            topic_id=topic_id,
            step=draw(st.sampled_from(list(AlterStep))),
            requested_state=states(draw, name),
        ),
        DeleteTopicRequest(topic=name, topic_id=topic_id),
        DeleteRecordsRequest(
            topic=name, topic_id=topic_id, deleted_message_offsets={0: draw(st.integers(-2, 9))}
        ),
        CreateAclRequest(binding=binding),
        DeleteAclRequest(binding=binding),
        AlterClientQuotaRequest(entity=make_entity(entity), quotas={"request_percentage": value}),
        CreateTopicRequest(
            topic=f"{NEW_UUID}.{local.name}", requested_state=states(draw, name), local=local
        ),
        link(local.name, name, local.virtual_cluster),
        CopyGroupOffsetsRequest(
            virtual_cluster=local.virtual_cluster,
            group=local.name,
            source=draw(st.sampled_from(MEMBERS)),
        ),
        DeleteGroupRequest(virtual_cluster=local.virtual_cluster, group=local.name),
    ]
    return draw(st.one_of(st.sampled_from(kinds), any_virtual_cluster_request))


def faults(data: st.DataObject, cluster: EmbeddedCluster) -> None:
    cluster.faults.hold_deletions = data.draw(st.booleans())
    cluster.faults.hold_reassignments = data.draw(st.booleans())


def dirty_cluster(data: st.DataObject) -> EmbeddedCluster:
    """A cluster after some requests, with topics half deleted, on the move, and with records."""
    cluster = a_cluster()
    for name in CLUSTERS[:2]:
        send(cluster, create(name), validate_only=False)
    for name in ("a", "d"):
        topic = NewTopic(name=name, assignments=[(0, (1, 2)), (1, (2, 3))])
        assert admin(cluster).create_topics([topic])[name].ok
    faults(data, cluster)
    for _ in range(data.draw(st.integers(0, 10))):
        send(cluster, data.draw(requests(cluster)), validate_only=False)
    for name in cluster.read_state().topics:
        cluster.produce(name, 0, records=data.draw(st.integers(0, 9)), bytes_each=3)
        cluster.commit(data.draw(st.sampled_from(MEMBERS)), {(name, 0): 1})
    if data.draw(st.booleans()):
        cluster.fence(3)
    return cluster


def send(cluster: EmbeddedCluster, request: Request, *, validate_only: bool):
    return cluster.execute([request], validate_only=validate_only, principal="User:a")[0]


def log_of(cluster: EmbeddedCluster) -> list[Record]:
    rows = cluster.controller._store.connection.execute(
        "SELECT records FROM log ORDER BY log_offset"
    )
    return [record_from_json(item) for (text,) in rows for item in json.loads(text)]


def through_text(value: Json) -> Json:
    return json.loads(dump_json(value))


LAW = settings(max_examples=examples(60))


@LAW
@given(st.data())
def test_records_split_anywhere_add_up_to_the_same(data: st.DataObject):
    with closing(dirty_cluster(data)) as cluster:
        records = log_of(cluster)
        whole = cluster.controller.image()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    image = Image.EMPTY
    for begin, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        image = replay(image, records[begin:end])
    assert image == whole == replay(Image.EMPTY, records)


@LAW
@given(st.data())
def test_records_and_images_come_back_from_text(data: st.DataObject):
    with closing(dirty_cluster(data)) as cluster:
        image, records = cluster.controller.image(), log_of(cluster)
    assert image_from_text(dump_json(image_to_json(image))) == image
    for record in records:
        assert record_from_json(through_text(record_to_json(record))) == record


@pytest.mark.parametrize("kind", ConfigResourceType)
def test_configs_of_every_type_come_back_from_text(kind: ConfigResourceType):
    """Half a surrogate pair, too."""
    record = ConfigRecord(resource_type=kind.lower(), resource="1", key="half", value="\ud800")
    image = replay(Image.EMPTY, [record])
    assert image.configs.named(kind) == {"1": {"half": "\ud800"}}
    assert image_from_text(dump_json(image_to_json(image))) == image


@LAW
@given(st.data())
def test_validating_changes_nothing_and_says_what_executing_says(data: st.DataObject):
    """Plan verdicts = validate_only verdicts = apply verdicts."""
    with closing(dirty_cluster(data)) as cluster:
        cluster.faults.hold_deletions = cluster.faults.hold_reassignments = False
        request = data.draw(requests(cluster))
        before = cluster.controller.image()
        kept = image_from_text(dump_json(image_to_json(before)))
        judged = send(cluster, request, validate_only=True)
        assert cluster.controller.image() is before
        assert before == kept
        done = send(cluster, request, validate_only=False)
        # Only time can make a difference: a deletion may have been held up before.
        if done.code is not ErrorCode.REQUEST_TIMED_OUT:
            assert (judged.code, judged.message) == (done.code, done.message)
        # An image that someone holds stays what it was, whatever happens later.
        assert before == kept


@LAW
@given(st.data())
def test_what_is_refused_writes_nothing(data: st.DataObject):
    """But for moves: Kafka answers for each partition, so some may move and others not (A4-80)."""
    with closing(dirty_cluster(data)) as cluster:
        request = data.draw(requests(cluster))
        if isinstance(request, AlterTopicRequest):
            assume(request.step is not AlterStep.REPLICAS)
        before = cluster.controller.image()
        if not send(cluster, request, validate_only=False).ok and not cluster.faults.hold_deletions:
            assert cluster.controller.image() is before


@LAW
@given(st.data())
def test_a_decision_depends_on_nothing_but_the_image(data: st.DataObject):
    """Deciding twice on one image writes the same records, but for the ids that are minted."""
    with closing(dirty_cluster(data)) as cluster:
        request = data.draw(requests(cluster))
        drafts: list[Draft] = []
        cluster.controller.clock_and_ids = replace(
            cluster.controller.clock_and_ids, new_id=lambda: "new"
        )
        original = cluster.controller._draft

        def remember(*args, **kwargs):
            drafts.append(original(*args, **kwargs))
            return drafts[-1]

        cluster.controller._draft = remember
        for _ in range(2):
            send(cluster, request, validate_only=True)
        assert drafts[0].records == drafts[1].records
