"""The image of all virtual clusters: its indexes match its parts, however it was built."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tiers import examples
from virtual_clusters.vc_requests import TOPICS, VirtualClusterRequest, any_request

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
)
from kgitops.virtual_clusters import deciding
from kgitops.virtual_clusters.image import VirtualClustersDelta, VirtualClustersImage, build_image
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)
from kgitops.virtual_clusters.refusals import VirtualClusterRefusal

LAW = settings(max_examples=examples(200))
EMPTY = VirtualClustersImage()
many_requests = st.lists(any_request, max_size=25)


def decided(
    delta: VirtualClustersDelta, request: VirtualClusterRequest
) -> list[VirtualClusterMetadataRecord]:
    """The records of one request; none where it is refused."""
    try:
        match request:
            case req.CreateVirtualClusterRequest():
                return list(deciding.create(delta, request))
            case req.AlterVirtualClusterRequest():
                return list(
                    deciding.alter(delta, request, lambda topic: f"id of {topic}", super_users=())
                )
            case req.DeleteVirtualClusterRequest():
                return list(deciding.delete(delta, request))
    except VirtualClusterRefusal:
        return []


def batches_of(requests: list[VirtualClusterRequest]) -> list[list[VirtualClusterMetadataRecord]]:
    """The records of the requests, one batch each, starting from an empty image."""
    image, batches = EMPTY, []
    for request in requests:
        delta = VirtualClustersDelta(image)
        batches.append(decided(delta, request))
        for record in batches[-1]:
            delta.replay(record)
        image = delta.apply()
    return batches


def replayed(image: VirtualClustersImage, records) -> VirtualClustersImage:
    delta = VirtualClustersDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


@LAW
@given(many_requests)
def test_the_indexes_say_what_the_virtual_clusters_say(requests):
    """VC-315: reverse indexes of users, client ids, adopted groups and linked topics."""
    image = EMPTY
    for batch in batches_of(requests):
        image = replayed(image, batch)
        by_name = image.by_name.items()
        assert image.users == {u: name for name, found in by_name for u in found.users}
        assert image.client_ids == {c: name for name, found in by_name for c in found.client_ids}
        assert image.adopted == {
            source: LocalName(name, group)
            for name, found in by_name
            for group, source in found.groups.items()
            if source is not None
        }
        links = {
            topic: frozenset(
                LocalName(name, item.name)
                for name, found in by_name
                for item in found.links.values()
                if item.topic == topic
            )
            for topic in TOPICS
        }
        assert image.links == {topic: here for topic, here in links.items() if here}


@LAW
@given(many_requests)
def test_nobody_and_nothing_belongs_to_two(requests):
    """VC-080, VC-081, VC-115: one virtual cluster per user, client id and adopted group."""
    image = EMPTY
    for batch in batches_of(requests):
        image = replayed(image, batch)
        for members in (
            [user for found in image.by_name.values() for user in found.users],
            [client for found in image.by_name.values() for client in found.client_ids],
            [s for found in image.by_name.values() for s in found.groups.values() if s],
        ):
            assert len(members) == len(set(members))


@LAW
@given(st.data(), many_requests)
def test_a_delta_is_what_replaying_from_scratch_gives(data, requests):
    """VC-317: wherever the log is cut, applying deltas adds up to the same image."""
    records = [record for batch in batches_of(requests) for record in batch]
    whole = replayed(EMPTY, records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    image = EMPTY
    for begin, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        image = replayed(image, records[begin:end])
    assert image == whole == build_image(whole.by_name.values())


FULL = VirtualCluster(
    name="a",
    links={"l": TopicLink(name="l", topic="t"), "m": TopicLink(name="m", topic="t")},
    users=frozenset({"User:x"}),
    client_ids=frozenset({"c"}),
    groups={"g": "old", "h": None},
    transactional_ids=frozenset({"tx"}),
)


def test_what_is_gone_or_replaced_is_in_no_index():
    """VC-315: also of one that was not empty, or that is added again."""
    there = build_image([FULL])
    assert replayed(there, [RemoveVirtualClusterRecord(name="a")]) == EMPTY
    delta = VirtualClustersDelta(there)
    other = VirtualCluster(name="a", users=frozenset({"User:y"}))
    delta.put(other)
    assert delta.apply() == build_image([other])


def test_a_group_that_leaves_gives_up_what_it_took_over():
    """VC-315, VC-115: and one that takes over another gives the first up."""
    leaves = VirtualClusterEntityRecord(
        virtual_cluster="a", entity_type=EntityType.GROUP, entity_name="g", remove=True
    )
    assert replayed(build_image([FULL]), [leaves]).adopted == {}
    another = replace(leaves, remove=False, adopts="other")
    assert replayed(build_image([FULL]), [another]).adopted == {"other": LocalName("a", "g")}


def test_one_batch_can_change_what_it_made():
    """VC-317: a delta can be read like an image."""
    delta = VirtualClustersDelta(EMPTY)
    for record in (
        VirtualClusterRecord(name="a"),
        VirtualClusterTopicLinkRecord(virtual_cluster="a", link_name="l", topic="t"),
        VirtualClusterTopicLinkRecord(virtual_cluster="a", link_name="l", topic="u"),
    ):
        delta.replay(record)
    assert (delta.links_to("t"), delta.links_to("u")) == (set(), {LocalName("a", "l")})
    delta.replay(VirtualClusterTopicLinkRecord(virtual_cluster="a", link_name="l", topic=None))
    assert delta.apply() == build_image([VirtualCluster(name="a")])
    with pytest.raises(ValueError, match="'none'"):
        delta.replay(
            VirtualClusterTopicLinkRecord(virtual_cluster="none", link_name="l", topic="t")
        )


@LAW
@given(many_requests)
def test_an_image_that_someone_holds_stays_what_it_was(requests):
    held = []
    image = EMPTY
    for batch in batches_of(requests):
        held.append((image, build_image(image.by_name.values())))
        image = replayed(image, batch)
    assert all(image == copy for image, copy in held)


@LAW
@given(many_requests)
def test_what_is_in_a_virtual_cluster_stays_in_one_while_it_moves(requests):
    """VC-086: no batch that moves a user leaves it in no virtual cluster meanwhile."""
    image = EMPTY
    for request, batch in zip(requests, batches_of(requests), strict=True):
        before, image = image, replayed(image, batch)
        if isinstance(request, req.AlterVirtualClusterRequest) and request.moved_from and batch:
            assert request.entity_name is not None
            found = image.by_name[request.virtual_cluster]
            assert request.entity_type is not None
            assert request.entity_name in found.members(request.entity_type)
            left = before.by_name[request.moved_from]
            assert request.entity_name in left.members(request.entity_type)
