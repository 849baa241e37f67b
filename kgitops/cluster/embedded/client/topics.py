"""CreateTopics, DeleteTopics, CreatePartitions, Metadata and DescribeCluster.

A call that may have to wait for topics is there twice: ``begin_to_…`` does not wait.
"""

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
from kgitops.cluster.embedded.client.metadata import (
    ClusterDescription,
    TopicDescription,
    TopicLookup,
)
from kgitops.cluster.embedded.client.pending import PendingResults, Results
from kgitops.cluster.embedded.client.topic_requests import CreatedTopic, created_topics
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.draft import Draft
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
        """Create topics; done when every partition has a leader (A4-41)."""
        return self.begin_to_create_topics(
            topics, timeout_ms=timeout_ms, validate_only=validate_only, version=version
        ).wait()

    def begin_to_create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        timeout_ms: int,
        validate_only: bool,
        version: int,
        created: dict[str, CreatedTopic] | None = None,
    ) -> PendingResults:
        """Create topics, and wait for none; ``created`` takes what they have become (KIP-525).

        Version 0 has no error messages.
        """
        names = [topic.name for topic in topics]
        if version == 0 and validate_only:
            return self._decided(dict.fromkeys(names, UNSUPPORTED))

        def decide(draft: Draft) -> Results:
            results = topic_requests.create_topics(draft, topics)
            if created is not None:
                created.update(created_topics(draft, results))
            return results

        return self._decide_topics(
            names,
            decide,
            has_leaders(self._controller),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
            shape=_without_messages if version == 0 else _as_they_are,
        )

    def delete_topics(
        self,
        names: Sequence[str] = (),
        *,
        topic_ids: Sequence[str] = (),
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
        version: int = 6,
    ) -> dict[str, RequestResult]:
        """Delete topics by name or by id; done when they are gone (A4-65)."""
        return self.begin_to_delete_topics(
            names,
            topic_ids=topic_ids,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
            version=version,
        ).wait()

    def begin_to_delete_topics(
        self,
        names: Sequence[str],
        *,
        topic_ids: Sequence[str],
        timeout_ms: int,
        validate_only: bool,
        version: int,
    ) -> PendingResults:
        """Delete topics, and wait for none.

        ``validate_only`` is KIP-201's: from version 2 on in seed mode, never in KRaft (C-22). A
        policy's denial is POLICY_VIOLATION with its message; before version 2, which does not
        know of policies, it is UNKNOWN_SERVER_ERROR and the log has the message (P201-105). A bound
        caller deletes its links (VC-031).
        """
        seed = self._controller.options.seed
        keys = [*names, *topic_ids]
        if validate_only and not (seed and version >= 2):
            return self._decided(dict.fromkeys(keys, UNSUPPORTED))

        def shape(results: Results) -> Results:
            results = {
                key: before_policies(
                    "DeleteTopics", version, key, _deletion_disabled(result, version)
                )
                for key, result in results.items()
            }
            return _without_messages(results) if version < (2 if seed else 5) else results

        return self._decide_topics(
            keys,
            lambda draft: topic_requests.delete_topics(draft, names, topic_ids),
            is_gone,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
            shape=shape,
        )

    def create_partitions(
        self,
        items: Sequence[NewPartitions],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> dict[str, RequestResult]:
        """Raise the number of partitions."""
        return self.begin_to_create_partitions(
            items, timeout_ms=timeout_ms, validate_only=validate_only
        ).wait()

    def begin_to_create_partitions(
        self, items: Sequence[NewPartitions], *, timeout_ms: int, validate_only: bool
    ) -> PendingResults:
        """Raise the number of partitions, and wait for none.

        KRaft never waits for leaders: an older partition may have none for long.
        """
        seed = self._controller.options.seed
        return self._decide_topics(
            [item.topic for item in items],
            lambda draft: topic_requests.create_partitions(draft, items),
            has_leaders(self._controller) if seed else lambda _, __: True,
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
        if topics is not None and allow_auto_create:
            self.create_missing(self.find_topics(topics))
        return self._read(lambda draft: metadata.describe_topics(draft, topics, version=version))

    def find_topics(self, topics: Sequence[str] | None) -> TopicLookup:
        """The topics of these names, or all of the caller's, as the brokers know them."""
        return self._read(lambda draft: metadata.find_topics(draft, topics))

    def find_topic_ids(self, topic_ids: Sequence[str]) -> TopicLookup:
        """The topics with these ids; one that the caller knows none of has no name."""
        return self._read(lambda draft: metadata.find_topic_ids(draft, topic_ids))

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

    def missing(self, found: TopicLookup) -> tuple[str, ...]:
        """The names that brokers would create topics for, if a request allows that."""
        defaults = self._controller.options.static_configs
        if defaults.get("auto.create.topics.enable", "true") != "true":
            return ()
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return tuple(item.name for item in found.topics if item.error is unknown and item.name)

    def creatable(self, names: Iterable[str]) -> frozenset[str]:
        """Those of these names, new ones of the caller's, that it has the right to create."""
        return self._read(lambda draft: topic_requests.creatable(draft, names))

    def create_missing(self, found: TopicLookup) -> dict[str, RequestResult]:
        """Create the topics that a request looked for in vain, with the brokers' defaults."""
        defaults = self._controller.options.static_configs
        topics = [
            NewTopic(
                name=name,
                num_partitions=int(defaults.get("num.partitions", "1")),
                replication_factor=int(defaults.get("default.replication.factor", "1")),
            )
            for name in self.missing(found)
        ]
        return self.create_topics(topics) if topics else {}


def _without_messages(results: Mapping[str, RequestResult]) -> dict[str, RequestResult]:
    return {name: without_message(result) for name, result in results.items()}


def _as_they_are(results: Results) -> Results:
    return results


def _deletion_disabled(result: RequestResult, version: int) -> RequestResult:
    """The answer by version: the code exists from version 3 on (A4-69)."""
    if result.code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3:
        return RequestResult(code=ErrorCode.INVALID_REQUEST, message=result.message)
    return result
