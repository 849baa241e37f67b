"""DeleteRecords and reassignments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgitops.cluster.embedded.client.bound import partitions as bound_partitions
from kgitops.cluster.embedded.client.calls.connection import UNSUPPORTED, Connection, either, silent
from kgitops.cluster.embedded.client.calls.old_versions import as_of_old
from kgitops.cluster.embedded.controls import delete_records as records_control
from kgitops.cluster.embedded.controls import reassignments as reassignment_control
from kgitops.cluster.embedded.controls.delete_records import DeletedRecords
from kgitops.cluster.embedded.controls.reassignments import OngoingReassignment, TopicPartition
from kgitops.model.results import RequestResult


class PartitionCalls(Connection):
    """What is asked about partitions."""

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, RequestResult]:
        """Move partitions, or cancel their moves with None; there is no validate_only (A4-80)."""
        return self._decide(
            either(
                lambda draft: reassignment_control.alter_partition_reassignments(
                    draft,
                    reassignments,
                    allow_replication_factor_change=allow_replication_factor_change,
                ),
                lambda tenant: bound_partitions.alter_partition_reassignments(
                    tenant,
                    reassignments,
                    allow_replication_factor_change=allow_replication_factor_change,
                ),
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
        return self._read(
            either(
                lambda draft: reassignment_control.list_reassignments(draft, partitions),
                lambda tenant: bound_partitions.list_reassignments(tenant, partitions),
            )
        )

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
        outcomes = self._ask(
            either(
                lambda draft: records_control.delete_records(draft, offsets, broker=broker),
                lambda tenant: bound_partitions.delete_records(tenant, offsets, broker=broker),
            ),
            validate_only=validate_only,
        )
        outcomes = {
            (name, partition): replace(
                item, result=as_of_old("DeleteRecords", version, name, item.result)
            )
            for (name, partition), item in outcomes.items()
        }
        if seed and version >= 1:
            return outcomes
        return {key: replace(item, result=silent(item.result)) for key, item in outcomes.items()}
