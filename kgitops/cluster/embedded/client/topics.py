"""CreateTopics, DeleteTopics, CreatePartitions, Metadata and DescribeCluster."""

from collections.abc import Iterable, Mapping, Sequence

from kgitops.cluster.embedded.client import metadata, topic_requests
from kgitops.cluster.embedded.client.connection import (
    DEFAULT_TIMEOUT_MS,
    UNSUPPORTED,
    Connection,
    before_policies,
    has_leaders,
    is_gone,
    without_message,
)
from kgitops.cluster.embedded.client.metadata import ClusterDescription, TopicDescription
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.results import ErrorCode, RequestResult


class TopicCalls(Connection):
    """Calls about topics; a bound caller's names are those of its links."""

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
        version: int = 1,
    ) -> dict[str, RequestResult]:
        """Create topics; done when every partition has a leader (A4-41).

        Version 0 has no error messages.
        """
        names = [topic.name for topic in topics]
        if version == 0 and validate_only:
            return dict.fromkeys(names, UNSUPPORTED)
        results = self._decide_topics(
            names,
            lambda draft: topic_requests.create_topics(draft, topics),
            has_leaders(self._controller),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        return _without_messages(results) if version == 0 else results

    def delete_topics(
        self,
        names: Sequence[str] = (),
        *,
        topic_ids: Sequence[str] = (),
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
        version: int = 6,
    ) -> dict[str, RequestResult]:
        """Delete topics by name or by id; done when they are gone (A4-65).

        ``validate_only`` is KIP-201's: from version 2 on in seed mode, never in KRaft (C-22). A
        policy's denial is POLICY_VIOLATION with its message; before version 2, which does not
        know of policies, it is UNKNOWN_SERVER_ERROR and the log has the message (P201-105). A bound
        caller deletes its links (VC-031).
        """
        seed = self._controller.options.seed
        keys = [*names, *topic_ids]
        if validate_only and not (seed and version >= 2):
            return dict.fromkeys(keys, UNSUPPORTED)

        results = self._decide_topics(
            keys,
            lambda draft: topic_requests.delete_topics(draft, names, topic_ids),
            is_gone,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        results = {
            key: before_policies("DeleteTopics", version, key, _deletion_disabled(result, version))
            for key, result in results.items()
        }
        return _without_messages(results) if version < (2 if seed else 5) else results

    def create_partitions(
        self,
        items: Sequence[NewPartitions],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> dict[str, RequestResult]:
        """Raise the number of partitions."""
        return self._decide_topics(
            [item.topic for item in items],
            lambda draft: topic_requests.create_partitions(draft, items),
            has_leaders(self._controller),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    def metadata(
        self,
        topics: Sequence[str] | None = None,
        *,
        version: int = 1,
        allow_auto_create: bool = False,
    ) -> tuple[TopicDescription, ...]:
        """The topics of these names, or all; those that do not exist may be created (VC-066).

        Kafka answers that a topic which it has just created has no leader yet; here it has one.
        """
        enabled = self._controller.options.static_configs.get("auto.create.topics.enable", "true")
        if topics is not None and allow_auto_create and enabled == "true":
            self._create_missing(self.metadata(topics, version=version))
        return self._read(lambda draft: metadata.describe_topics(draft, topics, version=version))

    def topic_names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        """The names of the topics with these ids; ids that the caller knows none of are left out.

        A bound caller's are the names of its links; the first one where several lead to a topic.
        """
        return self._read(
            lambda draft: {
                topic_id: name
                for topic_id in topic_ids
                if (name := metadata.name_of_id(draft, topic_id)) is not None
            }
        )

    def describe_cluster(self) -> ClusterDescription:
        """The brokers and the controller, for anyone (VC-160b)."""
        cluster_id = self._controller.cluster_id
        return self._read(lambda draft: metadata.describe_cluster(draft, cluster_id))

    def _create_missing(self, described: Sequence[TopicDescription]) -> None:
        defaults = self._controller.options.static_configs
        missing = [
            NewTopic(
                name=topic.name,
                num_partitions=int(defaults.get("num.partitions", "1")),
                replication_factor=int(defaults.get("default.replication.factor", "1")),
            )
            for topic in described
            if topic.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]
        if missing:
            self.create_topics(missing)


def _without_messages(results: Mapping[str, RequestResult]) -> dict[str, RequestResult]:
    return {name: without_message(result) for name, result in results.items()}


def _deletion_disabled(result: RequestResult, version: int) -> RequestResult:
    """The answer by version: the code exists from version 3 on (A4-69)."""
    if result.code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3:
        return RequestResult(code=ErrorCode.INVALID_REQUEST, message=result.message)
    return result
