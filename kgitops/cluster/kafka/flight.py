"""A request on its way."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, field

from kgitops.cluster.kafka.link import Link, Message
from kgitops.cluster.kafka.wire_errors import ConnectionFailedError

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
    """A request from when it is first sent until it is answered."""

    request: Message
    to: int | None
    may_repeat: bool
    deadline: float
    link: Link | None = None
    answer: "Future[Message]" = field(default_factory=Future)
    has_left: bool = False
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


def api_name(request: Message) -> str:
    """The name of a request's API, such as Metadata."""
    return str(request.name).removesuffix("Request")
