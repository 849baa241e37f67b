"""How documents are laid out, ordered and spelt changes nothing; what they ask for does."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests.loading import acl, build, load, quota, tombstone, topic, write

from kgitops.desired.state import DesiredState

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


def desired(files: dict[str, str]) -> DesiredState:
    with TemporaryDirectory() as folder:
        write(Path(folder), files)
        return build(load(folder))


def in_one_file(documents: list[str]) -> DesiredState:
    return desired({"a.yaml": "---\n".join(documents)})


@settings(max_examples=40, deadline=None)
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
    for objects in (state.topics, state.acls, state.quotas, state.tombstones):
        addresses = [one.address for one in objects]
        assert addresses == sorted(addresses)
        assert len(addresses) > 1
