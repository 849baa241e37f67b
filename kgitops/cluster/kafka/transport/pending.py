"""A request on its way."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, field

from kafka.errors import IncompatibleBrokerVersion, KafkaTimeoutError, RequestTimedOutError

from kgitops.cluster.kafka.transport.connection import Link, Message, NotSentError
from kgitops.cluster.kafka.transport.lease import is_over
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError
from kgitops.model.errors import LockedError, UnreachableError

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
        "Fetch",
        "FindCoordinator",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "ListPartitionReassignments",
        "ListTransactions",
        "Metadata",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
    )
)
"""What may be asked again without doing anything twice."""


@dataclass(slots=True)
class Flight:
    """A request from when it is first sent until it is answered.

    ``until`` is when the lease ends under which it may change something, in seconds of
    ``lease.ticks``.
    """

    request: Message
    to: int | None
    may_repeat: bool
    deadline: float
    until: float | None = None
    link: Link | None = None
    answer: "Future[Message]" = field(default_factory=Future)
    is_lost: bool = False
    """Whether the broker may have to be looked for."""
    pause_s: float = 0.05
    trouble: ConnectionFailedError | None = None
    """The last reason why no connection could be made."""

    @property
    def whom(self) -> str:
        """Who was asked, for a sentence."""
        return str(self.link.server) if self.link else "the cluster"

    @property
    def left_s(self) -> float:
        """The seconds until its deadline."""
        return max(0.0, self.deadline - time.monotonic())


def check_lease(flight: Flight) -> None:
    """See that the request may still leave.

    Raises:
        LockedError: the lease has ended; nothing of it has left, and nothing will.
    """
    if is_over(flight.until):
        raise LockedError(
            f"the lock's lease ended before {api_name(flight.request)} was sent, so it was not "
            "sent; run `kgitops apply --resume` or make a new plan"
        )


def api_name(request: Message) -> str:
    """The name of a request's API, such as Metadata."""
    return str(request.name).removesuffix("Request")


def unknown_outcome(flight: Flight, error: Exception) -> UnreachableError:
    """A change is unanswered and can't be sent again."""
    return UnreachableError(
        f"{flight.whom} did not answer {api_name(flight.request)} ({_cause(error)}); what became "
        "of it must be looked up"
    )


def out_of_time(flight: Flight, error: Exception) -> UnreachableError:
    """A request could not be answered before its deadline, however often it was tried."""
    if isinstance(error, NotSentError):
        return UnreachableError(
            f"{flight.whom} takes no {api_name(flight.request)} request for now, because a quota "
            "throttles this client; try again later, or raise its quota"
        )
    return UnreachableError(
        f"{flight.whom} did not answer {api_name(flight.request)} ({_cause(error)}); look at the "
        "brokers, and try again"
    )


def unusable(flight: Flight, error: Exception) -> UnreachableError:
    """Another try would end in the same way."""
    if isinstance(error, IncompatibleBrokerVersion):
        return UnreachableError(
            f"{flight.whom} does not know {api_name(flight.request)} as kgitops asks it; upgrade "
            "the cluster's brokers"
        )
    return UnreachableError(
        f"{flight.whom} answers {api_name(flight.request)} with more than kgitops takes at once; "
        "look at the broker"
    )


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError | RequestTimedOutError | KafkaTimeoutError):
        return "no answer came in time"
    return "the connection broke"
