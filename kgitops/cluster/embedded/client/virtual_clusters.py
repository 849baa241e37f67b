"""KIP-1134's five requests, with the names, batches and answers of its proposed Admin API.

They are experimental, as the proposal is. Results are values where its Java API has futures.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.client.virtual_clusters_batch import (
    Results,
    VirtualClusterAlteration,
    alter_virtual_clusters,
    duplicate_resource,
)
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.refusal import TIMED_OUT, Refusal, attempt
from kgitops.cluster.embedded.rights import check_right, check_virtual_clusters_enabled, may
from kgitops.model.requests import CreateVirtualClusterRequest, DeleteVirtualClusterRequest
from kgitops.model.resources.acls import CLUSTER_NAME, Operation
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.refusals import Symbol

VIRTUAL_CLUSTERS_TIMEOUT_MS = 60_000


class NewVirtualCluster(Struct, frozen=True, kw_only=True):
    """A virtual cluster to create, empty."""

    name: str


class DescribedTopicLink(Struct, frozen=True, kw_only=True, order=True):
    """A link, and the physical topic that it leads to."""

    link_name: str
    topic_name: str


class VirtualClusterDescription(Struct, frozen=True, kw_only=True):
    """The contents of a virtual cluster, in order; groups have their local ids (VC-302).

    Groups and transactional ids that members use are listed, added or not (VC-113, VC-124).
    """

    name: str
    topic_links: tuple[DescribedTopicLink, ...] = ()
    group_links: tuple[str, ...] = ()
    user_links: tuple[str, ...] = ()
    client_links: tuple[str, ...] = ()
    transactional_id_links: tuple[str, ...] = ()


class DescribedVirtualCluster(Struct, frozen=True, kw_only=True):
    """The description, or the error in its place."""

    result: RequestResult = OK
    description: VirtualClusterDescription | None = None


class VirtualClusterCalls(Connection):
    """Calls about virtual clusters."""

    def create_virtual_clusters(
        self,
        new: Sequence[NewVirtualCluster],
        *,
        timeout_ms: int = VIRTUAL_CLUSTERS_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> dict[str, RequestResult]:
        """Create virtual clusters, each on its own; one result for each name (VC-231)."""
        return self._each(
            [item.name for item in new],
            lambda draft, name: virtual_cluster_control.create(
                draft, CreateVirtualClusterRequest(virtual_cluster=name)
            ),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    def alter_virtual_clusters(
        self,
        alterations: Sequence[VirtualClusterAlteration],
        *,
        timeout_ms: int = VIRTUAL_CLUSTERS_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> Results:
        """Add and remove entities; by virtual cluster one result for each change (VC-233).

        Removals are done first. An entity that goes from one virtual cluster to another in the
        same request is in one of them at any moment: if it can't be added to the second, it is not
        removed from the first (VC-086, VC-240).
        """
        for_all = TIMED_OUT if timeout_ms <= 0 else TOO_LARGE
        try:
            if timeout_ms > 0:
                return self._ask(
                    lambda draft: alter_virtual_clusters(draft, alterations),
                    validate_only=validate_only,
                )
        except ExcessivelyLargeBatchError:
            pass
        return {
            alteration.virtual_cluster_name: {change.key: for_all for change in alteration.changes}
            for alteration in alterations
        }

    def delete_virtual_clusters(
        self,
        names: Sequence[str],
        *,
        timeout_ms: int = VIRTUAL_CLUSTERS_TIMEOUT_MS,
        validate_only: bool = False,
    ) -> dict[str, RequestResult]:
        """Delete virtual clusters, each on its own, and only empty ones (VC-235, VC-245)."""
        return self._each(
            names,
            lambda draft, name: virtual_cluster_control.delete(
                draft, DeleteVirtualClusterRequest(virtual_cluster=name)
            ),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    def list_virtual_clusters(
        self, *, timeout_ms: int = VIRTUAL_CLUSTERS_TIMEOUT_MS
    ) -> tuple[str, ...]:
        """The names of those that the principal may list, in order (VC-236, VC-300).

        Raises:
            Refusal: the cluster has no virtual clusters, or there is no time.
        """
        if timeout_ms <= 0:
            raise Refusal(TIMED_OUT.code, str(TIMED_OUT.message))

        def visible(draft: Draft) -> tuple[str, ...]:
            check_virtual_clusters_enabled(draft)
            names = sorted(draft.image.virtual_clusters.by_name)
            return tuple(n for n in names if may(draft, Operation.LIST_VIRTUAL_CLUSTERS, n))

        return self._read(visible)

    def describe_virtual_clusters(self, names: Sequence[str]) -> dict[str, DescribedVirtualCluster]:
        """Describe the contents of virtual clusters (VC-237)."""
        return self._read(lambda draft: {name: _described(draft, name) for name in names})

    def _each(
        self,
        names: Sequence[str],
        decide: Callable[[Draft, str], None],
        *,
        timeout_ms: int,
        validate_only: bool,
    ) -> dict[str, RequestResult]:
        times = Counter(names)

        def decide_all(draft: Draft) -> dict[str, RequestResult]:
            return {
                name: duplicate_resource(name) if times[name] > 1 else attempt(decide, draft, name)
                for name in times
            }

        if timeout_ms <= 0:
            return dict.fromkeys(times, TIMED_OUT)
        try:
            return self._ask(decide_all, validate_only=validate_only)
        except ExcessivelyLargeBatchError:
            return dict.fromkeys(times, TOO_LARGE)


def _described(draft: Draft, name: str) -> DescribedVirtualCluster:
    try:
        return DescribedVirtualCluster(description=_describe(draft, name))
    except Refusal as refusal:
        return DescribedVirtualCluster(result=refusal.result)


def _describe(draft: Draft, name: str) -> VirtualClusterDescription:
    check_virtual_clusters_enabled(draft)
    check_right(draft, Operation.DESCRIBE_VIRTUAL_CLUSTER, name)
    if name == CLUSTER_NAME:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"{Symbol.RESERVED_NAME}: {CLUSTER_NAME} is the physical cluster itself",
        )
    virtual_cluster = draft.image.virtual_clusters.by_name.get(name)
    if virtual_cluster is None:
        raise Refusal(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"{Symbol.VC_NOT_FOUND}: there is no virtual cluster {name}",
        )
    groups, transactions = draft.image.groups.groups, draft.image.transactions.by_id
    prefix = physical_id(name, "")
    used = {k.removeprefix(prefix) for k, group in groups.items() if group.virtual_cluster == name}
    writing = {k.removeprefix(prefix) for k in transactions if k.startswith(prefix)}
    return VirtualClusterDescription(
        name=name,
        topic_links=tuple(
            DescribedTopicLink(link_name=link.name, topic_name=link.topic)
            for _, link in sorted(virtual_cluster.links.items())
        ),
        group_links=tuple(sorted(used | virtual_cluster.groups.keys())),
        user_links=tuple(sorted(virtual_cluster.users)),
        client_links=tuple(sorted(virtual_cluster.client_ids)),
        transactional_id_links=tuple(sorted(writing | virtual_cluster.transactional_ids)),
    )
