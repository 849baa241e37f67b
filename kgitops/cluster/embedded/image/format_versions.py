"""The oldest format of a store that may hold a record, so that no older kgitops opens it."""

from kgitops.cluster.embedded.image.records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    GroupRecord,
    ProducerIdsRecord,
    Record,
    RemoveAccessControlEntryRecord,
    RemoveGroupRecord,
    RemoveUserScramCredentialRecord,
    TransactionContentsRecord,
    TransactionRecord,
    UserScramCredentialRecord,
)
from kgitops.model.resources.acls import CLUSTER_NAME, VIRTUAL_CLUSTER_OPERATIONS, ResourceType
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

FIRST_VERSION = 1
_WITH_VIRTUAL_CLUSTERS = 2
_SERVED = 3
FORMAT_VERSION = _SERVED
"""The newest that this kgitops reads. A store has an older one as long as its records allow it."""

_OF_VIRTUAL_CLUSTERS = (
    GroupRecord,
    RemoveGroupRecord,
    ProducerIdsRecord,
    TransactionRecord,
    VirtualClusterRecord,
    RemoveVirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
    VirtualClusterEntityRecord,
)


def format_version(record: Record) -> int:
    """The first format whose kgitops neither loses nor misreads the record."""
    match record:
        case (
            UserScramCredentialRecord()
            | RemoveUserScramCredentialRecord()
            | TransactionContentsRecord()
        ):
            return _SERVED
        case _:
            return _WITH_VIRTUAL_CLUSTERS if _is_of_virtual_clusters(record) else FIRST_VERSION


def _is_of_virtual_clusters(record: Record) -> bool:
    match record:
        case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
            binding = record.binding
            other = binding.resource_type is ResourceType.CLUSTER
            other = other and binding.resource_name != CLUSTER_NAME
            return binding.scoped or other or binding.operation in VIRTUAL_CLUSTER_OPERATIONS
        case ClientQuotaRecord():
            return any(kind == VIRTUAL_CLUSTER for kind, _ in record.entity)
        case _:
            return isinstance(record, _OF_VIRTUAL_CLUSTERS)
