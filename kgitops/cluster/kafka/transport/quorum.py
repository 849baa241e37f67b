"""The check for an active controller: without one a cluster answers but changes nothing."""

import time
from collections.abc import Callable

from kafka.protocol.admin import DescribeQuorumRequest

from kgitops.cluster.kafka.transport.connection import Message
from kgitops.cluster.kafka.transport.pending import UnusableAnswerError
from kgitops.model.errors import UnreachableError

_PAUSE_S = 0.1
_CLUSTER_AUTHORIZATION_FAILED = 31


def has_controller(ask: Callable[[Message, int], Message], deadline: float) -> bool:
    """Return whether the controller answers by ``deadline``, in seconds of ``time.monotonic``.

    ``ask`` sends a request to any broker, with a timeout in milliseconds. A broker forwards
    DescribeQuorum to the controller. Metadata would not do: in KRaft mode it names some broker as
    the controller, even when there is none (KIP-590).

    Raises:
        UnusableAnswerError: a broker answers what none of Kafka does.
    """
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(
        topics=[topic(topic_name="__cluster_metadata", partitions=[partition])]
    )
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            answer = ask(request, int(left_s * 1000) + 1)
        except UnusableAnswerError:
            raise
        except UnreachableError:
            return False
        if answer.error_code == _CLUSTER_AUTHORIZATION_FAILED:
            return True  # the controller itself answered
        if not answer.error_code and not answer.topics[0].partitions[0].error_code:
            return True
        time.sleep(_PAUSE_S)
    return False
