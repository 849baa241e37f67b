"""Answers that brokers make themselves: the same as those of Kafka's requests."""

import pytest
from serve.forwarding.requests import with_an_item

from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.audit import has_code, item_results
from kgitops.serve.forwarding.failures import failed
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import write
from kgitops.wire.messages import message_class

UNKNOWN = "The server experienced an unexpected error when processing the request."


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NOT_CONTROLLER,
    ],
)
@pytest.mark.parametrize("api", sorted(FORWARDED))
def test_every_version_has_a_place_for_the_error(api: str, code: ErrorCode) -> None:
    """F590-12, F590-20, F590-22, F590-24: for each item, or for the whole request."""
    for version in apis()[keys()[api]].readable:
        response = failed(api, version, with_an_item(api, version), code)
        assert write(response, version)
        assert has_code(response, code)
        assert {found for _, found in item_results(response)} <= {code, ErrorCode.NONE}


@pytest.mark.parametrize("api", sorted(FORWARDED))
def test_a_request_without_items_has_an_answer_without(api: str) -> None:
    """F590-12."""
    for version in apis()[keys()[api]].readable:
        request = message_class(f"{api}Request")()
        assert write(failed(api, version, request, ErrorCode.REQUEST_TIMED_OUT), version)


def test_items_keep_their_names() -> None:
    """F590-12: as ``getErrorResponse`` of Kafka 4.3 has them, and without words."""
    timed_out = ErrorCode.REQUEST_TIMED_OUT

    def answer(api: str, version: int, code: ErrorCode = timed_out):
        return failed(api, version, with_an_item(api, version), code)

    (row,) = answer("CreateTopics", 7).topics
    assert (row.name, row.error_code, row.error_message, row.configs) == ("orders", 7, None, [])
    (row,) = answer("DeleteTopics", 5).responses
    assert (row.name, row.error_message) == ("orders", None)
    (row,) = answer("DeleteTopics", 6).responses
    assert (row.name, row.error_message) == ("orders", None)
    (row,) = answer("AlterClientQuotas", 1).entries
    assert row.error_message == "The request timed out."
    assert [(part.entity_type, part.entity_name) for part in row.entity] == [("user", "alice")]
    assert answer("DescribeQuorum", 2, ErrorCode.UNKNOWN_SERVER_ERROR).error_message == UNKNOWN
    whole = answer("AlterPartitionReassignments", 1)
    assert (whole.error_code, whole.error_message) == (7, None)
    assert whole.responses[0].partitions[0].partition_index == 0
    (row,) = answer("AlterUserScramCredentials", 0).results
    assert (row.user, row.error_message) == ("alice", None)
    leaders = answer("ElectLeaders", 0)
    assert leaders.error_code == 0
    assert leaders.replica_election_results[0].partition_result[0].error_code == 7
