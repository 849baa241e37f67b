"""How documents are laid out, ordered and spelt changes nothing; what they ask for does."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests.loading import acl, build, declaration, load, quota, tombstone, topic, write
from tiers import examples

from kgitops.desired.state import DesiredState
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
)

DOCUMENTS = [
    topic("a", "{partitions: 1, replicationFactor: 1, configs: {retention.ms: 5}}"),
    topic("b", "{assignments: {0: [1, 2], 1: [2, 1]}, deleteRecordsBefore: {1: 7}}"),
    topic("c").replace("c}", "c, labels: {team: \U0001f600, tier: é}}"),
    topic("d").replace("d}", "d, clusters: [prod]}"),
    acl(
        "principals: [User:a, User:b]\npermission: Allow\noperations: [Read, Write]\n"
        "resource: {type: topic, name: a}"
    ),
    acl("principal: User:c\npermission: Deny\noperations: [All]\nresource: {type: group, name: g}"),
    quota("{user: a}", "{producer_byte_rate: 1, consumer_byte_rate: 2}"),
    quota("{ip: 10.0.0.1}", "{connection_creation_rate: 3}"),
    tombstone("{kind: Topic, name: z}"),
    tombstone("{address: quota/user=z}", "other"),
]

VIRTUAL_CLUSTERS = [
    declaration("VirtualCluster", "{name: v}", "{members: {users: [a], groups: [g]}}"),
    declaration("VirtualCluster", "{name: w}", "{members: {clientIds: [c], users: [b]}}"),
    declaration("Topic", "{name: t, virtualCluster: v}", "{partitions: 1, replicationFactor: 1}"),
    declaration("TopicLink", "{name: l, virtualCluster: v}", "{target: {physicalTopic: p}}"),
    declaration("TopicLink", "{name: m, virtualCluster: v}", "{target: {physicalTopic: q}}"),
    declaration("ConsumerGroup", "{name: h, virtualCluster: v}", "{adopt: old}"),
    declaration("VirtualClusterBinding", "{name: d, virtualCluster: w}", "{user: d}"),
    acl(
        "virtualCluster: v\nprincipal: User:a\npermission: Allow\noperations: [Read]\n"
        "resource: {type: topic, name: t}"
    ),
    quota("{virtualCluster: v, user: a}", "{producer_byte_rate: 1}"),
    tombstone("{kind: VirtualCluster, name: z}", "old"),
]


def desired(files: dict[str, str]) -> DesiredState:
    with TemporaryDirectory() as folder:
        write(Path(folder), files)
        return build(load(folder))


def in_one_file(documents: list[str]) -> DesiredState:
    return desired({"a.yaml": "---\n".join(documents)})


@settings(max_examples=examples(40))
@given(st.permutations(DOCUMENTS), st.lists(st.integers(0, 4), min_size=10, max_size=10))
def test_shuffling_documents_and_files_changes_nothing(
    documents: list[str], places: list[int]
) -> None:
    """The law: the same documents in any order and any files are the same desired state."""
    files: dict[str, str] = {}
    for document, place in zip(documents, places, strict=True):
        name = f"{'sub/' * (place % 2)}{place}.yaml"
        files[name] = files.get(name, "") + "---\n" + document
    assert desired(files) == in_one_file(DOCUMENTS)


@settings(max_examples=20)
@given(st.permutations(VIRTUAL_CLUSTERS))
def test_shuffling_virtual_clusters_changes_nothing(documents: list[str]) -> None:
    """VC-400: the same documents in another order are the same desired state."""
    assert in_one_file(documents) == in_one_file(VIRTUAL_CLUSTERS)


def test_without_virtual_clusters_the_digest_is_what_it_was() -> None:
    """VC-004, VC-380: of these documents, over records that know nothing of virtual clusters."""
    before = "sha256:aede2c0081bd7c430d82988dfc1e9eca67d402afa2a9a0d84a63baf83541cce2"
    assert in_one_file(DOCUMENTS).digest == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DOCUMENTS[0], DOCUMENTS[0].replace("retention.ms: 5", 'retention.ms: "5"')),
        (DOCUMENTS[0], DOCUMENTS[0].replace("\n", "\r\n")),
        (DOCUMENTS[1], DOCUMENTS[1].replace("{0: [1, 2], 1: [2, 1]}", "{1: [2, 1], 0: [1, 2]}")),
        (DOCUMENTS[4], DOCUMENTS[4].replace("[Read, Write]", "[WRITE, read]")),
        (DOCUMENTS[4], DOCUMENTS[4].replace("[User:a, User:b]", "[User:b, User:a]")),
        (DOCUMENTS[6], DOCUMENTS[6].replace("producer_byte_rate: 1", "producer_byte_rate: 1.0")),
    ],
)
def test_another_spelling_has_the_same_digest(one: str, other: str) -> None:
    assert one != other
    assert in_one_file([one]).digest == in_one_file([other]).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (VIRTUAL_CLUSTERS[0], VIRTUAL_CLUSTERS[0].replace("[a]", "['User:a']")),
        (VIRTUAL_CLUSTERS[0], VIRTUAL_CLUSTERS[0].replace("[g]", "[{name: g}]")),
        (VIRTUAL_CLUSTERS[2], VIRTUAL_CLUSTERS[2].replace("1}", "1, shareWith: []}")),
        (VIRTUAL_CLUSTERS[5], VIRTUAL_CLUSTERS[5].replace("old", "old, copyOffsets: true")),
        (VIRTUAL_CLUSTERS[6], VIRTUAL_CLUSTERS[6].replace("user: d", "user: 'User:d'")),
    ],
)
def test_another_spelling_of_virtual_clusters_has_the_same_digest(one: str, other: str) -> None:
    """VC-083."""
    assert one != other
    assert in_one_file([one]).digest == in_one_file([other]).digest


@pytest.mark.parametrize(
    ("number", "written", "instead"),
    [
        (0, "name: v", "name: u"),
        (0, "members: {", "members: {mode: additive, "),
        (0, "users: [a]", "users: [b]"),
        (0, "users: [a]", "users: [{principal: a, move: true}]"),
        (0, "users: [a]", "users: [{principal: a, copyAclsFrom: w}]"),
        (0, "users: [a]", "users: [{principal: a, removeOldAclsFrom: w}]"),
        (0, "groups: [g]", "groups: []"),
        (0, "groups: [g]", "transactionalIds: [g]"),
        (0, "groups: [g]", "groups: [{name: g, adopt: h}]"),
        (0, "[g]}", "[g]}, lowering: {capLowering: none}"),
        (0, "[g]}", "[g]}, lowering: {denyWins: true}"),
        (0, "[g]}", "[g]}, deletionPolicy: Protect"),
        (2, "1}", "1, shareWith: [w]}"),
        (2, "virtualCluster: v", "virtualCluster: w"),
        (3, "{physicalTopic: p}", "{physicalTopic: q}"),
        (3, "{physicalTopic: p}", "{virtualCluster: v, topic: p}"),
        (5, "adopt: old", "adopt: older"),
        (5, "adopt: old", "adopt: old, copyOffsets: false"),
        (7, "virtualCluster: v", "virtualCluster: w"),
        (7, "virtualCluster: v", "virtualCluster: v\n  virtualClusterPatternType: prefixed"),
        (8, "virtualCluster: v, ", ""),
    ],
)
def test_asking_for_other_virtual_clusters_has_another_digest(
    number: int, written: str, instead: str
) -> None:
    one = VIRTUAL_CLUSTERS[number]
    assert written in one
    other = one.replace(written, instead)
    assert in_one_file([one]).digest != in_one_file([other]).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DOCUMENTS[0], DOCUMENTS[0].replace("retention.ms: 5", "retention.ms: 6")),
        (DOCUMENTS[0], DOCUMENTS[0].replace("partitions: 1", "partitions: 2")),
        (DOCUMENTS[0], DOCUMENTS[0].replace("Factor: 1", "Factor: 1, deletionPolicy: Protect")),
        (DOCUMENTS[0], DOCUMENTS[0].replace("Factor: 1", "Factor: 1, configsPolicy: Exact")),
        (DOCUMENTS[0], DOCUMENTS[0].replace("name: a", "name: a, labels: {b: c}")),
        (DOCUMENTS[1], DOCUMENTS[1].replace("[1, 2]", "[2, 1]")),
        (DOCUMENTS[1], DOCUMENTS[1].replace("{1: 7}", "{1: 8}")),
        (DOCUMENTS[5], DOCUMENTS[5].replace("Deny", "Allow")),
        (DOCUMENTS[6], DOCUMENTS[6].replace("producer_byte_rate: 1", "producer_byte_rate: 3")),
        (DOCUMENTS[8], DOCUMENTS[8].replace("no longer needed", "another reason")),
        (DOCUMENTS[8], DOCUMENTS[8].replace("name: z}", "name: z, topicId: x}")),
    ],
)
def test_asking_for_something_else_has_another_digest(one: str, other: str) -> None:
    assert one != other
    assert in_one_file([one]).digest != in_one_file([other]).digest


def test_objects_come_in_the_order_of_their_addresses() -> None:
    state = in_one_file(DOCUMENTS)
    of_virtual_clusters = in_one_file(VIRTUAL_CLUSTERS)
    for objects in (
        state.of(DesiredTopic),
        state.of(DesiredAcl),
        state.of(DesiredQuota),
        state.tombstones,
        of_virtual_clusters.of(DesiredVirtualCluster),
        of_virtual_clusters.of(DesiredLink),
        of_virtual_clusters.of(DesiredMember),
    ):
        addresses = [one.address for one in objects]
        assert addresses == sorted(addresses)
        assert len(addresses) > 1
