"""The embedded cluster as the port sees it: takes logical requests, answers with decisions."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.controls import reassignments as reassignment_control
from kgitops.cluster.embedded.controls import scram as scram_control
from kgitops.cluster.embedded.controls import topic_deletion as topic_deletion_control
from kgitops.cluster.embedded.controls.brokers import fence_brokers
from kgitops.cluster.embedded.controls.records import delete_records as records_control
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.image.state import (
    BACKEND,
    build_cluster_state,
    build_usage,
    find_objects,
)
from kgitops.cluster.embedded.options import BROKER_PRINCIPAL, Faults
from kgitops.cluster.embedded.refusal import TIMED_OUT, attempt
from kgitops.cluster.embedded.requests import decide_request, is_held
from kgitops.cluster.embedded.store.registry_log import EmbeddedRegistryLog
from kgitops.cluster.port import Authors
from kgitops.model.clock import to_text
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    FoundObject,
    GroupOffsets,
    Usage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType, KnownConfig, known_configs
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.topic_configs import ConfigType, TopicConfig, topic_configs
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import ErrorCode, RequestResult

_VALIDATION = {
    "CreateTopic": Validator.BROKER,
    "AlterTopic": Validator.BROKER,
    "DeleteTopic": Validator.BROKER,
    "DeleteRecords": Validator.BROKER,
    "CreateAcl": Validator.NOT_SUPPORTED,
    "DeleteAcl": Validator.NOT_SUPPORTED,
    "AlterClientQuota": Validator.BROKER,
    "AlterBroker": Validator.BROKER,
    "AlterUserScramCredentials": Validator.NOT_SUPPORTED,
    "AlterConfigResource": Validator.BROKER,
    "AlterConsumerGroupOffsets": Validator.BROKER,
    "DeleteConsumerGroup": Validator.BROKER,
    "CopyGroupOffsets": Validator.NOT_SUPPORTED,
    "DeleteGroup": Validator.NOT_SUPPORTED,
}
_VIRTUAL_CLUSTERS = {
    "CreateVirtualCluster": Validator.BROKER,
    "AlterVirtualCluster": Validator.BROKER,
    "DeleteVirtualCluster": Validator.BROKER,
}
CAPABILITIES = Capabilities(
    backend=BACKEND,
    validation={**_VALIDATION, **_VIRTUAL_CLUSTERS},
    virtual_clusters=VirtualClusterSupport.NATIVE,
)
WITHOUT_VIRTUAL_CLUSTERS = Capabilities(backend=BACKEND, validation=_VALIDATION)


class EmbeddedCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` on one open store."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        # A real connection has one principal; here each request has one. Moves are cancelled as the
        # principal of the last request.
        self._last_principal = BROKER_PRINCIPAL

    @property
    def cluster_id(self) -> str:
        """The id that the store got when it was created."""
        return self.controller.cluster_id

    @property
    def capabilities(self) -> Capabilities:
        """Everything, validated by the brokers wherever Kafka's APIs have such a flag."""
        native = self.controller.options.virtual_clusters
        return CAPABILITIES if native else WITHOUT_VIRTUAL_CLUSTERS

    @property
    def registry(self) -> EmbeddedRegistryLog:
        """The registry in the same store."""
        return self.controller.registry

    @property
    def faults(self) -> Faults:
        """Delays and failures to simulate, for tests."""
        return self.controller.faults

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """The cluster now, the registry at the same moment."""
        with self.controller.consistent_image() as image:
            return build_cluster_state(
                image,
                self.controller.options,
                cluster_id=self.controller.cluster_id,
                topics=topics,
                links=links,
                registry=self.registry.read_state(),
                captured_at=to_text(self.controller.clock_and_ids.now()),
            )

    def read_usage(
        self,
        topics: frozenset[str],
        *,
        offsets_only: bool = False,  # noqa: ARG002 (all of it is cheap to read)
        groups: bool = True,  # noqa: ARG002
    ) -> Usage:
        """Offsets and sizes of these topics now."""
        with self.controller.consistent_image() as image:
            return build_usage(image, topics)

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Committed offsets of those of these groups that have any."""
        with self.controller.consistent_image() as image:
            existing = image.groups.groups
            names = sorted(name for name in groups if name in existing)
            return {name: existing[name].committed for name in names if existing[name].committed}

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        """Read the newest image; groups that are simulated as busy have members."""
        with self.controller.consistent_image() as image:
            return find_objects(image, kind, names, self.faults.busy_groups)

    def read_config_types(
        self, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        """Those that the embedded brokers know of any resource of this type."""
        del name
        known: Mapping[str, KnownConfig | TopicConfig]
        if kind is None:
            known = topic_configs()
        else:
            known = {key: it for key, it in known_configs(kind).items() if not it.read_only}
        return {key: known[key].type for key in sorted(keys & known.keys())}

    def matches_host_ranges(self) -> bool:
        """False: the embedded brokers compare hosts as Kafka 4.3 does."""
        return False

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Look through the record batches of the store."""
        with self.controller.reading_batches() as image:
            chosen = (image.topics.by_name.get(name) for name in sorted(topics))
            return {
                (topic.name, partition): offset
                for topic in chosen
                if topic is not None
                for partition in range(len(topic.assignment))
                if (offset := self._offset_since(topic, partition, timestamp_ms)) is not None
            }

    def _offset_since(self, topic: TopicImage, partition: int, timestamp_ms: int) -> int | None:
        batches, start = self.controller.batches, topic.offsets_of(partition)[0]
        return batches.first_since((topic.topic_id, partition), start, timestamp_ms)

    def offers_login(self, mechanism: ScramMechanism) -> bool:
        """Always: the store itself is looked at."""
        del mechanism
        return True

    def logs_in(self, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
        """Return whether the credential in the store is that of this password."""
        with self.controller.consistent_image() as image:
            held = image.scram.users.get(user, {}).get(mechanism.value)
        return held is not None and scram_control.is_password(held, mechanism, secret)

    def read_authors(self) -> Authors:
        """The last author of each field, from the metadata log."""
        return self.controller.authors()

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Decide the batch and append its records; one result each, in order."""
        self._last_principal = principal

        def decide(draft: Draft) -> list[RequestResult]:
            may_wait = not validate_only
            results = [attempt(decide_request, draft, request) for request in requests]
            return [
                TIMED_OUT if may_wait and result.ok and is_held(draft, request) else result
                for request, result in zip(requests, results, strict=True)
            ]

        try:
            return self.controller.decide(
                decide, principal=principal, validate_only=validate_only, until_ms=until_ms
            )
        except ExcessivelyLargeBatchError:
            return [TOO_LARGE for _ in requests]

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel reassignments; partitions that have arrived meanwhile stay where they are."""

        def decide(draft: Draft) -> Mapping[tuple[str, int], RequestResult]:
            cancelling = {(topic, item): None for topic in moves for item in moves[topic]}
            return reassignment_control.alter_partition_reassignments(draft, cancelling)

        results = self.controller.decide(decide, principal=self._last_principal, until_ms=until_ms)
        for (topic, _), result in results.items():
            if not result.ok and result.code is not ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                raise KgitopsError(
                    f"topic/{topic}: the broker would not cancel its reassignment: {result}"
                )

    def produce(self, topic: str, partition: int, records: int, bytes_each: int) -> None:
        """Simulate producers, for tests and demonstrations: a partition grows by ``records``."""
        self.controller.decide(
            lambda draft: records_control.produce(
                draft, topic, partition, records=records, bytes_each=bytes_each
            )
        )

    def commit(self, group: str, committed: GroupOffsets) -> None:
        """Simulate consumers outside virtual clusters: the group has read so far."""
        self.controller.decide(lambda draft: group_control.commit(draft, group, committed))

    def fence(self, *brokers: int) -> None:
        """Simulate for tests that exactly these brokers are dead."""
        self.controller.decide(lambda draft: fence_brokers(draft, frozenset(brokers)))
        if not self.faults.hold_reassignments:
            # A broker that is back fetches the replicas that waited for it.
            self.controller.decide(reassignment_control.finish_reassignments)

    def release(self) -> None:
        """End all simulated faults, and finish the operations that they held up."""
        self.controller.faults = Faults()
        self.controller.decide(reassignment_control.finish_reassignments)
        self.controller.decide(topic_deletion_control.finish_deletions)

    def close(self) -> None:
        """Close the store."""
        self.controller.close()
