"""RefusedRead reads: one sentence with the principal, all missing rights and the page with both."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kgitops.cluster.kafka.answers import unreadable_error
from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.transport.pending import READING
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.refusals import (
    MissingRight,
    MissingRightsError,
    RefusedRead,
    missing_rights_error,
    of_all_topics,
    read_all,
    right_for,
)
from kgitops.model.errors import KgitopsError, SafetyError, UnreachableError
from kgitops.model.results import ErrorCode
from kgitops.model.verdict import ExitCode

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rights.md"
CLUSTER, TOPIC = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED


class Alice(Wire):
    """Connections that are never opened."""

    def __init__(self) -> None:
        self._options = WireOptions(principal="User:alice")


def refused(api: str, what: str, code: ErrorCode) -> UnreachableError:
    return unreadable_error(Alice(), api, what, code)


def failing(error: KgitopsError) -> Callable[[], None]:
    def read() -> None:
        raise error

    return read


ACLS = failing(refused("DescribeAcls", "the ACLs", CLUSTER))
BROKERS = failing(refused("DescribeCluster", "the brokers", CLUSTER))
QUOTAS = failing(refused("DescribeClientQuotas", "the client quotas", CLUSTER))
CONFIGS = failing(refused("DescribeConfigs", "the configs of the topic 'a'", TOPIC))


def test_one_refusal_names_principal_right_and_page() -> None:
    error = refused("DescribeAcls", "the ACLs", CLUSTER)
    assert str(error) == (
        "the cluster does not let User:alice read the ACLs (CLUSTER_AUTHORIZATION_FAILED); grant "
        "it Describe on the cluster, as docs/reference/rights.md shows"
    )
    assert error.exit is ExitCode.UNREACHABLE


def test_refusals_of_several_reads_are_one_sentence_with_each_right_once() -> None:
    with pytest.raises(MissingRightsError) as caught:
        read_all(ACLS, lambda: read_all(BROKERS, QUOTAS), CONFIGS)
    assert str(caught.value) == (
        "the cluster does not let User:alice read the ACLs, the client quotas and the configs of "
        "the topic 'a' (CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED); grant it "
        "Describe on the cluster, DescribeConfigs on the cluster and DescribeConfigs on all "
        "topics, as docs/reference/rights.md shows"
    )


def test_a_right_on_all_topics_stands_for_the_one_on_the_registry() -> None:
    registry = RefusedRead("the registry", TOPIC)
    missing = {
        MissingRight("Read", "__kgitops"): registry,
        MissingRight("DescribeConfigs", "__kgitops"): registry,
        MissingRight("DescribeConfigs", "all topics"): RefusedRead("the topic configs", TOPIC),
    }
    said = str(missing_rights_error("User:alice", missing))
    assert "; grant it Read on __kgitops and DescribeConfigs on all topics, as " in said


def test_who_reads_all_topics_needs_the_rights_on_the_registrys_on_all() -> None:
    registry = RefusedRead("the registry", TOPIC)
    operations = ("Read", "Describe", "DescribeConfigs")
    missing = {MissingRight(operation, "__kgitops"): registry for operation in operations}
    error = missing_rights_error("User:alice", missing)
    assert "grant it Read on __kgitops and DescribeConfigs on __kgitops, as " in str(error)
    assert (
        "grant it Read on __kgitops, Describe on all topics and DescribeConfigs on all topics, as "
    ) in str(of_all_topics(error))


def test_all_is_read_or_nothing() -> None:
    """The first failure decides the exit code, as it does where reads follow each other."""
    assert read_all(lambda: 1, lambda: "a", lambda: None) == (1, "a", None)
    damaged = failing(SafetyError("the registry is damaged"))
    with pytest.raises(SafetyError):
        read_all(damaged, ACLS)
    with pytest.raises(MissingRightsError, match="the ACLs"):
        read_all(lambda: 1, ACLS, damaged)
    with pytest.raises(MissingRightsError, match=r"^copied$"):
        read_all(lambda: 1, failing(MissingRightsError("copied")))


def test_other_failures_name_no_right() -> None:
    error = unreadable_error(Alice(), "DescribeAcls", "the ACLs", 42, "no")
    assert not isinstance(error, MissingRightsError)
    assert str(error).startswith("the cluster could not say the ACLs: INVALID_REQUEST (42): no; ")
    assert right_for("DescribeAcls", ErrorCode.INVALID_REQUEST) is None


@pytest.mark.parametrize("code", [CLUSTER, TOPIC, GROUP])
@pytest.mark.parametrize(
    "api", sorted(READING - {"ListVirtualClusters", "DescribeVirtualClusters"})
)
def test_each_right_that_can_be_named_is_on_the_page(api: str, code: ErrorCode) -> None:
    right = right_for(api, code)
    assert right is not None
    cells = re.findall(rf"([A-Za-z, ]+) on {right.resource}\b", PAGE.read_text("utf-8"))
    assert any(right.operation in re.split(r"[, ]+", cell) for cell in cells), right
