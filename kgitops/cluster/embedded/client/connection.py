"""The connection behind every call: its principal, host and client id, and how it decides."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kgitops.cluster.embedded.client.pending import IsDone, PendingResults, Results
from kgitops.cluster.embedded.controller import LOCALHOST, Controller
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.image.image import NO_LEADER, Image, leader
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.model.resources.acls import OPERATIONS, Operation, ResourceType
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.resolution import bind

T = TypeVar("T")
K = TypeVar("K")

DEFAULT_TIMEOUT_MS = 30_000
UNSUPPORTED = RequestResult(
    code=ErrorCode.UNSUPPORTED_VERSION, message="This version has no validate_only."
)
_FIRST_WITH_POLICIES = {"DeleteTopics": 2, "DeleteRecords": 1}
_log = logging.getLogger(__name__)


class Connection:
    """A connection of one principal, with the client id that it claims."""

    def __init__(
        self,
        controller: Controller,
        *,
        principal: str = "User:ANONYMOUS",
        host: str = LOCALHOST,
        client_id: str | None = None,
        view: Callable[[], Image] | None = None,
    ) -> None:
        """Connect to the controller, or to a broker: reads are from its ``view`` of the cluster."""
        self._controller = controller
        self._view = view
        self._principal = principal
        self._host = host
        self._client_id = client_id

    def allowed_operations(
        self, resource_type: ResourceType, names: Iterable[str]
    ) -> dict[str, frozenset[Operation]]:
        """The operations that the caller may do on topics or groups, by its names (KIP-430)."""

        def allowed(draft: Draft) -> dict[str, frozenset[Operation]]:
            here = namespace(draft)
            return {
                name: frozenset(
                    operation
                    for operation in OPERATIONS[resource_type]
                    if here.may(operation, resource_type, name)
                )
                for name in names
            }

        return self._read(allowed)

    def allowed_cluster_operations(self) -> frozenset[Operation]:
        """The operations that the caller may do on the physical cluster (KIP-430)."""
        return self._read(
            lambda draft: frozenset(
                operation
                for operation in OPERATIONS[ResourceType.CLUSTER]
                if draft.authorizer.allows_cluster(operation)
            )
        )

    def _ask(self, decide: Callable[[Draft], T], *, validate_only: bool = False) -> T:
        """Let ``decide`` answer one request of this caller, and make true what it wrote."""
        return self._controller.decide(
            decide,
            principal=self._principal,
            host=self._host,
            client_id=self._client_id,
            validate_only=validate_only,
        )

    def _read(self, answer: Callable[[Draft], T]) -> T:
        """Answer a request that writes nothing."""
        if self._view is None:
            return self._ask(answer, validate_only=True)
        return self._controller.read(
            answer,
            self._view(),
            principal=self._principal,
            host=self._host,
            client_id=self._client_id,
        )

    def _read_groups(self, answer: Callable[[Draft], T]) -> T:
        """Answer a request about groups: a coordinator knows them even if its metadata is old."""
        if self._view is None:
            return self._read(answer)
        image, newest = self._view(), self._controller.recent_image()
        if image.groups is not newest.groups or image.transactions is not newest.transactions:
            image = replace(image, groups=newest.groups, transactions=newest.transactions)
        return self._controller.read(
            answer,
            image,
            principal=self._principal,
            host=self._host,
            client_id=self._client_id,
        )

    def _decide(
        self,
        decide: Callable[[Draft], dict[K, RequestResult]],
        keys: Iterable[K],
        *,
        validate_only: bool = False,
    ) -> dict[K, RequestResult]:
        """Answer a batch by key; one that is too large is refused for every key."""
        try:
            return self._ask(decide, validate_only=validate_only)
        except ExcessivelyLargeBatchError:
            return dict.fromkeys(keys, TOO_LARGE)

    def _decide_in_order(
        self, items: Sequence[object], decide: Callable[[Draft], list[T]], too_large: T
    ) -> list[T]:
        """Answer a batch in order; one that is too large is refused for every item."""
        try:
            return self._ask(decide)
        except ExcessivelyLargeBatchError:
            return [too_large for _ in items]

    def _decide_topics(
        self,
        names: Sequence[str],
        decide: Callable[[Draft], Results],
        is_done: IsDone,
        *,
        timeout_ms: int,
        validate_only: bool,
        shape: Callable[[Results], Results] = lambda results: results,
    ) -> PendingResults:
        """Decide a batch about topics; ``shape`` gives the answers the form of a version."""
        if timeout_ms <= 0 and not self._controller.options.seed:
            # KRaft drops a request that is late before it begins (C-08).
            late = RequestResult(code=ErrorCode.REQUEST_TIMED_OUT)
            return self._decided(dict.fromkeys(names, late), shape)
        results = self._decide(decide, names, validate_only=validate_only)
        if validate_only:
            return self._decided(results, shape)
        return PendingResults(
            results,
            controller=self._controller,
            is_done=self._by_local_name(is_done),
            timeout_ms=timeout_ms,
            shape=shape,
        )

    def _decided(
        self, results: Results, shape: Callable[[Results], Results] = lambda results: results
    ) -> PendingResults:
        """Results that nothing is waited for."""
        return PendingResults(
            results, controller=self._controller, is_done=None, timeout_ms=0, shape=shape
        )

    def _by_local_name(self, is_done: IsDone) -> IsDone:
        """Let a bound caller wait for the topic that its link leads to."""

        def is_topic_done(image: Image, name: str) -> bool:
            binding = bind(image.virtual_clusters, self._principal, self._client_id)
            if binding is None:
                return is_done(image, name)
            link = binding.link(name)
            return link is None or is_done(image, link.topic)

        return is_topic_done


def has_leaders(controller: Controller) -> IsDone:
    """A topic is done when each of its partitions has a leader (A4-41)."""

    def is_done(image: Image, name: str) -> bool:
        topic = image.topics.by_name.get(name)
        if topic is None:
            return True  # deleted meanwhile
        if name in controller.faults.leaderless_topics:
            return False
        brokers = image.brokers.brokers.values()
        partitions = range(len(topic.assignment))
        return all(leader(brokers, topic, partition) != NO_LEADER for partition in partitions)

    return is_done


def is_gone(image: Image, key: str) -> bool:
    """A deletion is done when no topic has this name or id (A4-65)."""
    return key not in image.topics.by_name and key not in image.topics.names


def without_message(result: RequestResult) -> RequestResult:
    """The result in a version of the request that has no error messages."""
    return RequestResult(code=result.code, topic_id=result.topic_id)


def before_policies(api: str, version: int, topic: str, result: RequestResult) -> RequestResult:
    """Hide a policy's denial in versions that are older than policies (P201-105, P201-108)."""
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
