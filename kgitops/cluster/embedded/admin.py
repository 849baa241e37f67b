"""The admin surface of the embedded cluster, in process: KIP-4's calls as one principal makes them.

The port asks for logical requests only. This is the whole of it, per item and per version, as the
brokers of spec §3 answer: for policies' tests, for people who explore, and for this package's own.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kgitops.cluster.embedded import (
    acl_control,
    config_control,
    described_configs,
    metadata,
    partition_control,
    quota_control,
    reassignment_control,
    records_control,
    topic_control,
)
from kgitops.cluster.embedded.acl_control import AclAction, AclResource, DeletedAcls
from kgitops.cluster.embedded.acl_filter import AclFilter
from kgitops.cluster.embedded.admin_virtual_clusters import VirtualClustersAdmin
from kgitops.cluster.embedded.config_control import ConfigChanges, ConfigResource
from kgitops.cluster.embedded.controller import LOCALHOST, Controller
from kgitops.cluster.embedded.described_configs import DescribedConfigs
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.metadata import ClusterDescription, TopicMetadata
from kgitops.cluster.embedded.partition_control import NewPartitions
from kgitops.cluster.embedded.quota_control import QuotaAlteration, QuotaFilter
from kgitops.cluster.embedded.reassignment_control import OngoingReassignment, TopicPartition
from kgitops.cluster.embedded.records_control import DeletedRecords
from kgitops.cluster.embedded.topic_control import NewTopic
from kgitops.cluster.embedded.waiting import TIMED_OUT, IsDone, finish, has_leaders, is_gone
from kgitops.model.acls import AclBinding
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.model.results import ErrorCode, RequestResult

T = TypeVar("T")
K = TypeVar("K")

DEFAULT_TIMEOUT_MS = 30_000
_FIRST_WITH_POLICIES = {"DeleteTopics": 2, "DeleteRecords": 1}
_log = logging.getLogger(__name__)
UNSUPPORTED = RequestResult(
    code=ErrorCode.UNSUPPORTED_VERSION, message="This version has no validate_only."
)


class EmbeddedAdmin(VirtualClustersAdmin):
    """A connection of one principal to an embedded cluster."""

    def __init__(
        self, controller: Controller, *, principal: str = "User:ANONYMOUS", host: str = LOCALHOST
    ) -> None:
        self._controller = controller
        self._principal = principal
        self._host = host

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
            lambda draft: topic_control.create_topics(draft, topics),
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
        of policies, it is UNKNOWN_SERVER_ERROR and the log has the words (P201-105).
        """
        seed = self._controller.options.seed
        keys = [*names, *topic_ids]
        if validate_only and not (seed and version >= 2):
            return dict.fromkeys(keys, UNSUPPORTED)

        def decide(draft: Draft) -> dict[str, RequestResult]:
            by_name = topic_control.delete_topics(draft, names)
            return by_name | topic_control.delete_topic_ids(draft, topic_ids)

        results = self._topics(
            keys,
            decide,
            is_gone,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        results = {
            key: _as_of_old("DeleteTopics", version, key, _deletion_disabled(result, version))
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
            lambda draft: partition_control.create_partitions(draft, items),
            has_leaders(self._controller),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    def incremental_alter_configs(
        self, changes: ConfigChanges, *, validate_only: bool = False
    ) -> dict[ConfigResource, RequestResult]:
        """Set, delete, append to and subtract from configs of topics and brokers."""
        return self._decide(
            lambda draft: config_control.incremental_alter_configs(draft, changes),
            [resource for resource, _ in changes],
            validate_only=validate_only,
        )

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, RequestResult]:
        """Replace all configs of a resource: deprecated, as keys that are not listed are lost."""
        return self._decide(
            lambda draft: config_control.alter_configs(draft, changes),
            changes,
            validate_only=validate_only,
        )

    def describe_configs(
        self, resources: Sequence[ConfigResource]
    ) -> dict[ConfigResource, DescribedConfigs]:
        """Every config in effect, with its source."""
        return self._read(lambda draft: described_configs.describe_configs(draft, resources))

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, RequestResult]:
        """Move partitions, or cancel their moves with None; there is no validate_only (A4-80)."""
        return self._decide(
            lambda draft: reassignment_control.alter_partition_reassignments(
                draft,
                reassignments,
                allow_replication_factor_change=allow_replication_factor_change,
            ),
            reassignments,
        )

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OngoingReassignment]:
        """What is moving; None asks for everything.

        Raises:
            Refusal: the principal may not know.
        """
        return self._read(lambda draft: reassignment_control.list_ongoing(draft, partitions))

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        validate_only: bool = False,
        broker: int | None = None,
        version: int = 1,
    ) -> dict[TopicPartition, DeletedRecords]:
        """Delete records below offsets. ``broker``: who is asked; None asks each leader.

        ``validate_only`` and words are KIP-201's: from version 1 on in seed mode, never in KRaft
        (C-22). A policy's denial is POLICY_VIOLATION on each partition of the topic; in version 0
        it is UNKNOWN_SERVER_ERROR and the log has the words (P201-108).
        """
        seed = self._controller.options.seed
        if validate_only and not (seed and version >= 1):
            return {key: DeletedRecords(result=UNSUPPORTED) for key in offsets}

        def decide(draft: Draft) -> dict[TopicPartition, DeletedRecords]:
            return records_control.delete_records(draft, offsets, broker=broker)

        outcomes = self._controller.decide(
            decide, principal=self._principal, host=self._host, validate_only=validate_only
        )
        outcomes = {
            (name, partition): replace(
                item, result=_as_of_old("DeleteRecords", version, name, item.result)
            )
            for (name, partition), item in outcomes.items()
        }
        if seed and version >= 1:
            return outcomes
        return {key: replace(item, result=_silent(item.result)) for key, item in outcomes.items()}

    def create_acls(self, bindings: Sequence[AclBinding | AclFilter]) -> list[RequestResult]:
        """Add ACL bindings, one result each, in order."""
        return self._in_order(
            bindings, lambda draft: acl_control.create_acls(draft, bindings), TOO_LARGE
        )

    def delete_acls(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        """Delete every binding that a filter means, and say which those were."""
        return self._in_order(
            filters,
            lambda draft: acl_control.delete_acls(draft, filters),
            DeletedAcls(result=TOO_LARGE),
        )

    def describe_acls(self, wanted: AclFilter) -> DeletedAcls:
        """The bindings that the filter means."""
        return self._read(lambda draft: acl_control.describe_acls(draft, wanted))

    def alter_acls(
        self, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
    ) -> dict[AclResource, list[RequestResult]]:
        """KIP-4's AlterAcls, never shipped: deletions first, whatever the order (A4-84)."""
        return self._controller.decide(
            lambda draft: acl_control.alter_acls(draft, requests),
            principal=self._principal,
            host=self._host,
        )

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> dict[ClientQuotaEntity, RequestResult]:
        """Set and remove quotas."""
        return self._decide(
            lambda draft: quota_control.alter_client_quotas(draft, alterations),
            [alteration.entity for alteration in alterations],
            validate_only=validate_only,
        )

    def describe_client_quotas(
        self, components: Sequence[QuotaFilter] = (), *, strict: bool = False
    ) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        """The quotas of the entities that match.

        Raises:
            Refusal: the filter is not legal, or the principal may not know.
        """
        return self._read(
            lambda draft: quota_control.describe_client_quotas(draft, components, strict=strict)
        )

    def describe_cluster(self) -> ClusterDescription:
        """The brokers and the controller."""
        cluster_id = self._controller.cluster_id
        return self._read(lambda draft: metadata.describe_cluster(draft, cluster_id))

    def metadata(
        self, topics: Sequence[str] | None = None, *, version: int = 1
    ) -> tuple[TopicMetadata, ...]:
        """The topics of these names, or all."""
        return self._read(lambda draft: metadata.describe_topics(draft, topics, version=version))

    def _read(self, answer: Callable[[Draft], T]) -> T:
        return self._controller.decide(
            answer, principal=self._principal, host=self._host, validate_only=True
        )

    def _decide(
        self,
        decide: Callable[[Draft], dict[K, RequestResult]],
        keys: Iterable[K],
        *,
        validate_only: bool = False,
    ) -> dict[K, RequestResult]:
        try:
            return self._controller.decide(
                decide, principal=self._principal, host=self._host, validate_only=validate_only
            )
        except ExcessivelyLargeBatchError:
            return dict.fromkeys(keys, TOO_LARGE)

    def _in_order(
        self, items: Sequence[object], decide: Callable[[Draft], list[T]], too_large: T
    ) -> list[T]:
        try:
            return self._controller.decide(decide, principal=self._principal, host=self._host)
        except ExcessivelyLargeBatchError:
            return [too_large for _ in items]

    def _topics(
        self,
        names: Sequence[str],
        decide: Callable[[Draft], dict[str, RequestResult]],
        is_done: IsDone,
        *,
        timeout_ms: int,
        validate_only: bool,
    ) -> dict[str, RequestResult]:
        if timeout_ms <= 0 and not self._controller.options.seed:
            # KRaft drops what is late before it begins (C-08).
            return dict.fromkeys(names, TIMED_OUT)
        results = self._decide(decide, names, validate_only=validate_only)
        return results if validate_only else finish(self._controller, results, is_done, timeout_ms)


def _silent(result: RequestResult) -> RequestResult:
    return RequestResult(code=result.code, topic_id=result.topic_id)


def _without_words(results: dict[str, RequestResult]) -> dict[str, RequestResult]:
    return {name: _silent(result) for name, result in results.items()}


def _deletion_disabled(result: RequestResult, version: int) -> RequestResult:
    """Before version 3 the code had not been invented (A4-69)."""
    if result.code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3:
        return RequestResult(code=ErrorCode.INVALID_REQUEST, message=result.message)
    return result


def _as_of_old(api: str, version: int, topic: str, result: RequestResult) -> RequestResult:
    """Versions that are older than policies must not speak of them (P201-105, P201-108)."""
    if result.code is not ErrorCode.POLICY_VIOLATION or version >= _FIRST_WITH_POLICIES[api]:
        return result
    _log.error(
        "%s version %d of topic %s is answered with UNKNOWN_SERVER_ERROR; it is a policy violation "
        "in truth: %s",
        api,
        version,
        topic,
        result.message,
    )
    return RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)
