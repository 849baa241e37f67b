"""Rights on virtual clusters: one question to the authorizer, asked the same way everywhere."""

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode


def check_feature(draft: Draft) -> None:
    """Refuse what needs virtual clusters where there are none (VC-351).

    Raises:
        Refusal: as said.
    """
    if not draft.options.virtual_clusters:
        raise Refusal(
            ErrorCode.UNSUPPORTED_VERSION, "The feature virtual.clusters is at level 0 here."
        )


def may(draft: Draft, operation: Operation, virtual_cluster: str) -> bool:
    """Whether who asks may do this to the virtual cluster, or to the whole cluster (VC-101)."""
    return draft.authorizer.virtual_cluster(operation, virtual_cluster)


def check_may(draft: Draft, operation: Operation, virtual_cluster: str) -> None:
    """Refuse who has not the right; whether the virtual cluster exists is not told (VC-244).

    Raises:
        Refusal: as said.
    """
    if not may(draft, operation, virtual_cluster):
        raise Refusal(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{draft.authorizer.principal} has no {operation} on the virtual cluster "
            f"{virtual_cluster}.",
        )
