"""Requests in flight, and the errors in which they can end."""

import time
from concurrent.futures import Future

from kafka.errors import (
    IncompatibleBrokerVersion,
    InvalidReceiveError,
    KafkaTimeoutError,
    RequestTimedOutError,
)
from msgspec import Struct, field

from kgitops.cluster.kafka.transport.connection import BrokerConnection, Message, NotSentError
from kgitops.cluster.kafka.transport.lease import is_over
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError, odd_answer
from kgitops.cluster.port import lease_ended_error
from kgitops.model.errors import UnreachableError

READING = frozenset(
    (
        "ApiVersions",
        "ConsumerGroupDescribe",
        "DescribeAcls",
        "DescribeClientQuotas",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeGroups",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeQuorum",
        "DescribeTopicPartitions",
        "DescribeTransactions",
        "DescribeUserScramCredentials",
        "DescribeVirtualClusters",
        "Fetch",
        "FindCoordinator",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "ListPartitionReassignments",
        "ListTransactions",
        "ListVirtualClusters",
        "Metadata",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
    )
)
"""APIs that only read, so that a request may be repeated."""


class PendingRequest(Struct):
    """A request from when it is first sent until it is answered.

    ``until`` is the end of the lease for a request that may change something, in seconds of
    ``lease.ticks``.
    """

    request: Message
    broker: int | None
    may_repeat: bool
    deadline: float
    until: float | None = None
    connection: BrokerConnection | None = None
    answer: "Future[Message]" = field(default_factory=Future)
    is_broker_moved: bool = False
    """True if the broker may have a new address."""
    pause_s: float = 0.05
    connection_error: ConnectionFailedError | None = None
    """The latest error of opening a connection."""

    @property
    def target_name(self) -> str:
        """The server that was asked, for an error message."""
        return str(self.connection.server) if self.connection else "the cluster"

    @property
    def left_s(self) -> float:
        """The seconds until the deadline."""
        return max(0.0, self.deadline - time.monotonic())


def check_lease(pending: PendingRequest) -> None:
    """Check that the request may still be sent.

    Raises:
        LockedError: the lease has ended; no byte was sent, and none will be.
    """
    if is_over(pending.until):
        raise lease_ended_error(api_name(pending.request), "sent")


def api_name(request: Message) -> str:
    """Return the name of a request's API, such as Metadata."""
    return str(request.name).removesuffix("Request")


def unknown_outcome(pending: PendingRequest, error: Exception) -> UnreachableError:
    """Build the error for a change that was not answered and can't be repeated."""
    return UnreachableError(
        f"{pending.target_name} did not answer {api_name(pending.request)} ({_cause(error)}); what "
        "became of it must be looked up"
    )


def out_of_time(pending: PendingRequest, error: Exception) -> UnreachableError:
    """Build the error for a request that was not answered before its deadline."""
    if isinstance(error, NotSentError):
        return UnreachableError(
            f"{pending.target_name} takes no {api_name(pending.request)} request for now, because "
            "a quota throttles this client; try again later, or raise its quota"
        )
    return UnreachableError(
        f"{pending.target_name} did not answer {api_name(pending.request)} ({_cause(error)}); look "
        "at the brokers, and try again"
    )


class UnusableAnswerError(UnreachableError):
    """A broker answers, and no other try would bring an answer that can be used."""


def unusable(pending: PendingRequest, error: Exception) -> UnusableAnswerError:
    """Build the error for a request that would fail in the same way again."""
    api = api_name(pending.request)
    if isinstance(error, IncompatibleBrokerVersion):
        return UnusableAnswerError(
            f"{pending.target_name} does not support the version of {api} that kgitops needs; "
            "upgrade the cluster's brokers"
        )
    if isinstance(error, InvalidReceiveError):
        return UnusableAnswerError(
            f"{pending.target_name} answers {api} with more than kgitops takes at once; look at "
            "the broker"
        )
    if not isinstance(error, OddAnswerError):
        error = OddAnswerError("it belongs to no request")
    problem, advice = odd_answer(pending.target_name, api, error)
    if api not in READING and not pending.may_repeat:
        advice = f"look up what became of the change, and {advice}"
    return UnusableAnswerError(f"{problem}; {advice}")


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError | RequestTimedOutError | KafkaTimeoutError):
        return "no answer came in time"
    return "the connection broke"
