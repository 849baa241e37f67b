"""Kafka's requests and responses over kafka-python's connections; safe from several threads."""

import copy
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaError
from kafka.protocol.admin import DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.client_configs import WireOptions
from kgitops.cluster.kafka.connections import Connections
from kgitops.cluster.kafka.dialing import server_of
from kgitops.cluster.kafka.link import Link, Message, NotSentError
from kgitops.cluster.kafka.wire_errors import ConnectionFailedError, Server
from kgitops.model.errors import UnreachableError

T = TypeVar("T")

CONNECT_MS = 8_000
"""Within ten seconds the user has an answer, the start of the process included."""
_TIMEOUT_MS = 30_000
_PAUSE_S = 0.1
_GRACE_S = 1.0

_READING = frozenset(
    """
    ApiVersions ConsumerGroupDescribe DescribeAcls DescribeClientQuotas DescribeCluster
    DescribeConfigs DescribeGroups DescribeLogDirs DescribeProducers DescribeQuorum
    DescribeTopicPartitions DescribeTransactions DescribeUserScramCredentials Fetch FindCoordinator
    ListConfigResources ListGroups ListOffsets ListPartitionReassignments ListTransactions Metadata
    OffsetFetch OffsetForLeaderEpoch
    """.split()
)
"""What may be asked again without doing anything twice."""
