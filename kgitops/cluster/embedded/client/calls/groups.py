"""What consumers and producers ask coordinators: groups, their offsets, and transactions."""

from collections.abc import Iterable, Mapping, Sequence

from kgitops.cluster.embedded.client import group_requests
from kgitops.cluster.embedded.client.calls.connection import Connection
from kgitops.cluster.embedded.client.group_requests import (
    Coordinator,
    CoordinatorType,
    FetchedOffsets,
    GroupDescription,
)
from kgitops.cluster.embedded.controls import transactions as transaction_control
from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.controls.transactions import ProducerId
from kgitops.cluster.embedded.refusal import attempt
from kgitops.model.results import RequestResult


class GroupCalls(Connection):
    """What is asked of coordinators; a bound caller's ids are local ones (VC-111, VC-120)."""

    def offset_commit(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, RequestResult]:
        """The group has read so far; one result for each partition."""
        return self._ask(lambda draft: group_requests.offset_commit(draft, group, offsets))

    def offset_fetch(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> FetchedOffsets:
        """How far the group has read in these partitions, or in all."""
        return self._read(lambda draft: group_requests.offset_fetch(draft, group, partitions))

    def offset_delete(
        self, group: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, RequestResult]:
        """Forget how far the group has read; one result for each partition."""
        return self._ask(lambda draft: group_requests.offset_delete(draft, group, partitions))

    def list_groups(self) -> tuple[str, ...]:
        """The groups that the caller may know of, in order."""
        return self._read(group_requests.list_groups)

    def describe_groups(self, groups: Sequence[str]) -> dict[str, GroupDescription]:
        """Whether these groups are in use."""
        return self._read(lambda draft: group_requests.describe_groups(draft, groups))

    def delete_groups(self, groups: Sequence[str]) -> dict[str, RequestResult]:
        """Delete groups that have no members, with their offsets."""
        return self._ask(lambda draft: group_requests.delete_groups(draft, groups))

    def find_coordinator(
        self, keys: Sequence[str], key_type: CoordinatorType = CoordinatorType.GROUP
    ) -> dict[str, Coordinator]:
        """Which broker coordinates these groups or transactional ids."""
        return self._read(lambda draft: group_requests.find_coordinator(draft, keys, key_type))

    def init_producer_id(self, transactional_id: str | None = None) -> ProducerId:
        """A producer id and epoch; who had the transactional id before is fenced."""
        return self._ask(
            lambda draft: transaction_control.init_producer_id(draft, transactional_id)
        )

    def add_offsets_to_txn(
        self, transactional_id: str, producer: ProducerId, group: str
    ) -> RequestResult:
        """The producer's transaction takes the group's offsets in."""
        return self._ask(
            lambda draft: attempt(
                transaction_control.add_offsets_to_txn, draft, transactional_id, producer, group
            )
        )

    def end_txn(self, transactional_id: str, producer: ProducerId) -> RequestResult:
        """The producer's transaction is over."""
        return self._ask(
            lambda draft: attempt(transaction_control.end_txn, draft, transactional_id, producer)
        )
