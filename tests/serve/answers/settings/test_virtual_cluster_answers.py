"""KIP-1134's five APIs on the wire, under private keys, and configs as bound callers see them."""

import pytest
from serve.answers.settings.asking import GROUP, SET, TOPIC, alter, describe, shown
from serve.plain_requests import Fields, ask
from serve.raw_client import RawClient
from serve.served import client_of

from kgitops.wire.apis import apis
from kgitops.wire.messages import Message

KEYS = range(10001, 10006)
ADD, REMOVE = 0, 1
ACL_GROUP, TRANSACTIONAL_ID, USER, CLIENT_ID = 3, 5, 7, 8


def change(kind: int, name: str, operation: int = ADD, topic: str | None = None) -> Fields:
    """One change of a virtual cluster."""
    row = {"resource_type": kind, "resource_name": name, "resource_operation": operation}
    return {**row, "physical_name": topic}


def create(client: RawClient, *names: str, **how: object) -> list[tuple[str, int]]:
    """CreateVirtualClusters: each name with its error."""
    rows = [{"name": name} for name in names]
    answer = ask(client, "CreateVirtualClusters", 0, virtual_clusters=rows, **how)
    return [(row.name, row.error_code) for row in answer.virtual_clusters]


def change_members(client: RawClient, name: str, *changes: Fields, **how: object) -> list[int]:
    """AlterVirtualClusters of one: the error of each change."""
    row = {"name": name, "resources": changes}
    answer = ask(client, "AlterVirtualClusters", 0, virtual_cluster=row, **how)
    (altered,) = answer.virtual_cluster
    assert altered.name == name
    told = ("resource_type", "resource_name", "resource_operation")
    assert [[getattr(item, key) for key in told] for item in altered.resources] == [
        [item[key] for key in told] for item in changes
    ]
    return [item.error_code for item in altered.resources]


def delete(client: RawClient, *names: str, **how: object) -> list[tuple[str, int]]:
    """DeleteVirtualClusters: each name with its error."""
    rows = [{"name": name} for name in names]
    answer = ask(client, "DeleteVirtualClusters", 0, virtual_clusters=rows, **how)
    return [(row.name, row.error_code) for row in answer.responses]


def names_of(client: RawClient) -> tuple[int, list[str]]:
    """ListVirtualClusters."""
    answer = client.ask("ListVirtualClusters", 0)
    return answer.error_code, [row.name for row in answer.virtual_clusters]


def contents(client: RawClient, name: str) -> Message:
    """DescribeVirtualClusters of one."""
    answer = ask(client, "DescribeVirtualClusters", 0, virtual_clusters={"name": name})
    (found,) = answer.virtual_clusters
    return found


def test_the_proposals_session(client: RawClient) -> None:
    """VC-231…237, VC-245, VC-279: create, link, add, list, describe; delete once it is empty."""
    assert create(client, "sales", "hr") == [("sales", 0), ("hr", 0)]
    changes = [
        change(TOPIC, "mine", topic="orders"),
        change(USER, "User:jane"),
        change(CLIENT_ID, "app"),
        change(ACL_GROUP, "g"),
        change(TRANSACTIONAL_ID, "t"),
    ]
    assert change_members(client, "sales", *changes) == [0] * 5
    assert names_of(client) == (0, ["hr", "sales"])
    found = contents(client, "sales")
    links = [(link.link_name, link.physical_name) for link in found.topic_links]
    assert (found.error_code, links) == (0, [("mine", "orders")])
    assert (found.users, found.client_ids) == (["User:jane"], ["app"])
    assert (found.consumer_groups, found.transactional_ids) == (["g"], ["t"])
    assert delete(client, "sales", "hr") == [("sales", 42), ("hr", 0)]
    removals = [{**item, "resource_operation": REMOVE} for item in changes]
    assert change_members(client, "sales", *removals) == [0] * 5
    assert delete(client, "sales") == [("sales", 0)]
    assert names_of(client) == (0, [])


def test_errors_are_of_each_item(client: RawClient) -> None:
    """VC-238, VC-239, VC-246, VC-240: with the codes of spec §25; other items are done."""
    assert create(client, "sales") == [("sales", 0)]
    assert create(client, "sales", "hr") == [("sales", 42), ("hr", 0)]
    assert create(client, "new", "new") == [("new", 92)]
    assert contents(client, "none").error_code == 91
    assert delete(client, "none") == [("none", 91)]
    wrong = [change(99, "x"), change(USER, "User:a", operation=9)]
    assert change_members(client, "sales", *wrong, change(USER, "User:b")) == [42, 42, 0]
    assert change_members(client, "none", change(USER, "User:c")) == [91]
    assert contents(client, "sales").users == ["User:b"]


def test_validating_changes_nothing(client: RawClient) -> None:
    """VC-241: reachable in version 0, unlike in the proposal (X-03)."""
    assert create(client, "sales", validate_only=True) == [("sales", 0)]
    assert names_of(client) == (0, [])
    assert create(client, "sales") == [("sales", 0)]
    added = change(USER, "User:a")
    assert change_members(client, "sales", added, validate_only=True) == [0]
    assert contents(client, "sales").users == []
    assert delete(client, "sales", validate_only=True) == [("sales", 0)]
    assert names_of(client) == (0, ["sales"])


def test_a_time_that_is_over_changes_nothing(client: RawClient) -> None:
    """VC-243."""
    assert create(client, "sales", timeout_ms=0) == [("sales", 7)]
    assert names_of(client) == (0, [])


def test_the_feature_announces_them(client: RawClient) -> None:
    """VC-230, VC-351, VC-353: private keys, and a feature that says so.

    Of the proposal's own keys, 91 and 92 are those of share groups' offsets in today's Kafka.
    """
    answer = client.ask("ApiVersions", 4)
    keys = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert {key: versions for key, versions in keys.items() if key > 10000} == dict.fromkeys(
        KEYS, (0, 0)
    )
    assert keys.keys() & set(range(91, 96)) == {91, 92}
    assert [apis()[key].name for key in (91, 92)] == [
        "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets",
    ]
    supported = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
    finalized = {row.name: row.max_version_level for row in answer.finalized_features}
    assert (supported["virtual.clusters"], finalized["virtual.clusters"]) == ((0, 1), 1)


def test_without_the_feature_there_are_none() -> None:
    """VC-351: neither the keys, nor the feature, nor an answer."""
    with client_of(virtual_clusters=False) as client:
        answer = client.ask("ApiVersions", 4)
        assert not {row.api_key for row in answer.api_keys} & set(KEYS)
        assert "virtual.clusters" not in {row.name for row in answer.supported_features}
        with pytest.raises(ConnectionResetError):
            names_of(client)


def test_a_member_configures_by_local_names(client: RawClient, member: RawClient) -> None:
    """VC-249, VC-035: topics by their links, groups by its own ids, and no other name."""
    assert change_members(client, "sales", change(TOPIC, "mine", topic="orders")) == [0]
    session = ("consumer.session.timeout.ms", SET, "50000")
    assert shown(describe(member, TOPIC, "mine"), "retention.ms").value == "77"
    assert describe(member, TOPIC, "orders").error_code == 3
    set_there = (TOPIC, "mine", [("retention.ms", SET, "88")])
    assert alter(member, set_there, (GROUP, "g", [session])) == [(0, None)] * 2
    assert shown(describe(member, GROUP, "g"), session[0]).value == "50000"
    assert shown(describe(client, TOPIC, "orders"), "retention.ms").value == "88"
    assert shown(describe(client, GROUP, "g"), session[0]).config_source == 5
    assert shown(describe(client, GROUP, "sales:g"), session[0]).config_source == 8
