"""The scenarios that tests of Java's clients are about, and how often each release has one."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from gateway.clients import (
    test_gateway_connect,
    test_gateway_isolation,
    test_gateway_java,
    test_gateway_offsets,
    test_gateway_share_groups,
    test_gateway_streams,
    test_gateway_tools,
)
from gateway.clients.tenants import RELEASES

NEWEST = "4.3.0"
MODULES = (
    test_gateway_java,
    test_gateway_isolation,
    test_gateway_offsets,
    test_gateway_share_groups,
    test_gateway_streams,
    test_gateway_connect,
    test_gateway_tools,
)
SCENARIOS: Mapping[str, str] = {
    "test_topics_are_listed_and_described": "list, describe topics, configs",
    "test_other_names_are_unknown": "unknown topic",
    "test_records_are_produced": "produce: idempotent, acks=1, acks=0",
    "test_transactions": "transaction, read committed, fencing",
    "test_consume_transform_produce": "consume, transform, produce",
    "test_classic_groups": "classic group: range, sticky, cooperative",
    "test_a_pattern_that_the_client_matches": "classic group by regex",
    "test_groups_of_the_new_protocol": "KIP-848 group: by names, by regex",
    "test_live_migration_to_the_new_protocol": "classic group that goes to KIP-848",
    "test_static_members": "static member: classic, KIP-848",
    "test_groups_are_administered": "list, describe, reset, delete group",
    "test_offsets_of_a_quiet_partition_do_not_expire": "offsets do not expire",
    "test_topic_ids_and_open_transactions": "topic ids; list, describe, fence transactions",
    "test_records_are_not_deleted": "records are not deleted",
    "test_what_manifests_declare_is_not_changed": "changes are refused",
    "test_creating_a_topic_that_is_there_is_no_violation": "create a topic that is there",
    "test_equal_names_of_topics_and_groups": "equal names of two tenants",
    "test_equal_transactional_ids": "equal transactional ids of two tenants",
    "test_one_topic_under_two_names": "one topic under two names",
    "test_ids_of_topics_of_others_are_unknown": "topic ids of others",
    "test_share_groups": "share group",
    "test_an_application_counts_exactly_once": "Kafka Streams, exactly once",
    "test_topics_that_are_not_declared_end_an_application": "Kafka Streams without its topics",
    "test_lines_go_from_file_to_file": "Connect, distributed, exactly once",
    "test_tools": "Kafka's tools",
}
"""By test, its scenario in the table."""

SEVERAL: Mapping[str, Counter[str]] = {
    "test_offsets_of_a_quiet_partition_do_not_expire": Counter(
        {
            **dict.fromkeys(test_gateway_offsets.OLDER, 1),
            NEWEST: len(test_gateway_offsets.PROTOCOLS),
        }
    )
}
"""Tests that have several releases in one run."""


def java_scenarios() -> Mapping[str, Sequence[int]]:
    """By scenario, the number of tests of each release."""
    tests = {name: found for module in MODULES for name, found in vars(module).items()}
    cases = {
        name: SEVERAL.get(name) or _cases(getattr(tests[name], "pytestmark", ()))
        for name in SCENARIOS
    }
    return {
        scenario: tuple(cases[name][each] for each in RELEASES)
        for name, scenario in SCENARIOS.items()
    }


def _cases(marks: Sequence[pytest.Mark]) -> Counter[str]:
    """By release, how often a test runs: those that name no release are of the newest."""
    versions, times = [NEWEST], []
    for mark in marks:
        if mark.name != "parametrize":
            continue
        names, values = mark.args
        if "version" in names:
            versions = [value if names == "version" else value[0] for value in values]
        else:
            times.append(len(values))
    return Counter(each for each in versions for _ in range(math.prod(times)))
