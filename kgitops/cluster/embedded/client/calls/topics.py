"""CreateTopics, DeleteTopics, CreatePartitions, Metadata and DescribeCluster."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.client import metadata
from kgitops.cluster.embedded.client.bound import topics as bound_topics
from kgitops.cluster.embedded.client.calls.connection import (
    DEFAULT_TIMEOUT_MS,
    UNSUPPORTED,
    Connection,
    either,
    silent,
)
from kgitops.cluster.embedded.client.calls.old_versions import as_of_old
from kgitops.cluster.embedded.client.metadata import ClusterDescription, TopicMetadata
from kgitops.cluster.embedded.client.waiting import has_leaders, is_gone
from kgitops.cluster.embedded.controls import partitions as partition_control
from kgitops.cluster.embedded.controls import topic_deletion as topic_deletion_control
from kgitops.cluster.embedded.controls import topics as topic_control
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace
from kgitops.model.results import ErrorCode, RequestResult


class TopicCalls(Connection):
    """What is asked about topics; a bound caller's names are those of its links."""

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
        version: int = 1,
    ) -> dict[str, RequestResult]:
        """Create topics; done when every partition has a leader (A4-41). Version 0 has no words."""
        names = [topic.name for topic in topics]
        if version == 0 and validate_only:
            return dict.fromkeys(names, UNSUPPORTED)
        results = self._topics(
            names,
            either(
                lambda draft: topic_control.create_topics(draft, topics),
                lambda tenant: bound_topics.create_topics(tenant, topics),
            ),
            has_leaders(self._controller),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        return _without_words(results) if version == 0 else results

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
        policy's denial is POLICY_VIOLATION with its words; before version 2, which does not know
        of policies, it is UNKNOWN_SERVER_ERROR and the log has the words (P201-105). A bound
        caller deletes its links (VC-031).
        """
        seed = self._controller.options.seed
        keys = [*names, *topic_ids]
        if validate_only and not (seed and version >= 2):
            return dict.fromkeys(keys, UNSUPPORTED)

        def plain(draft: Draft) -> dict[str, RequestResult]:
            by_name = topic_deletion_control.delete_topics(draft, names)
            return by_name | topic_deletion_control.delete_topic_ids(draft, topic_ids)

        def bound(tenant: VirtualClusterNamespace) -> dict[str, RequestResult]:
            by_name = bound_topics.delete_topics(tenant, names)
            return by_name | bound_topics.delete_topic_ids(tenant, topic_ids)

        results = self._topics(
            keys,
            either(plain, bound),
            is_gone,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        results = {
            key: as_of_old("DeleteTopics", version, key, _deletion_disabled(result, version))
            for key, result in results.items()
        }
        return _without_words(results) if version < (2 if seed else 5) else results

    def create_partitions(
        self,
        items: Sequence[NewPartitions],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> dict[str, RequestResult]:
        """Raise the number of partitions."""
        return self._topics(
            [item.topic for item in items],
            either(
                lambda draft: partition_control.create_partitions(draft, items),
                lambda tenant: bound_topics.create_partitions(tenant, items),
            ),
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
    ) -> tuple[TopicMetadata, ...]:
        """The topics of these names, or all; what is not there can be created by it (VC-066).

        Kafka's own answer to that says that there is no leader yet; here there is one at once.
        """
        enabled = self._controller.options.static_configs.get("auto.create.topics.enable", "true")
        if topics is not None and allow_auto_create and enabled == "true":
            self._create_missing(self.metadata(topics, version=version))
        return self._read(
            either(
                lambda draft: metadata.describe_topics(draft, topics, version=version),
                lambda tenant: bound_topics.describe_topics(tenant, topics, version=version),
            )
        )

    def describe_cluster(self) -> ClusterDescription:
        """The brokers and the controller, for anyone (VC-160b)."""
        cluster_id = self._controller.cluster_id
        return self._read(lambda draft: metadata.describe_cluster(draft, cluster_id))

    def _create_missing(self, described: Sequence[TopicMetadata]) -> None:
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


def _without_words(results: Mapping[str, RequestResult]) -> dict[str, RequestResult]:
    return {name: silent(result) for name, result in results.items()}


def _deletion_disabled(result: RequestResult, version: int) -> RequestResult:
    """Before version 3 the code had not been invented (A4-69)."""
    if result.code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3:
        return RequestResult(code=ErrorCode.INVALID_REQUEST, message=result.message)
    return result
