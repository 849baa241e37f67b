"""What every call needs: who asks, from where, and in which virtual cluster they are."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kgitops.cluster.embedded.client.waiting import TIMED_OUT, IsDone, finish
from kgitops.cluster.embedded.controller import LOCALHOST, Controller
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft, ExcessivelyLargeBatchError
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace, tenant
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.resolution import bind

T = TypeVar("T")
K = TypeVar("K")

DEFAULT_TIMEOUT_MS = 30_000
UNSUPPORTED = RequestResult(
    code=ErrorCode.UNSUPPORTED_VERSION, message="This version has no validate_only."
)


class Connection:
    """A connection of one principal, with the client id that it says of itself."""

    def __init__(
        self,
        controller: Controller,
        *,
        principal: str = "User:ANONYMOUS",
        host: str = LOCALHOST,
        client_id: str | None = None,
    ) -> None:
        self._controller = controller
        self._principal = principal
        self._host = host
        self._client_id = client_id

    def _ask(self, decide: Callable[[Draft], T], *, validate_only: bool = False) -> T:
        return self._controller.decide(
            decide,
            principal=self._principal,
            host=self._host,
            client_id=self._client_id,
            validate_only=validate_only,
        )

    def _read(self, answer: Callable[[Draft], T]) -> T:
        return self._ask(answer, validate_only=True)

    def _decide(
        self,
        decide: Callable[[Draft], dict[K, RequestResult]],
        keys: Iterable[K],
        *,
        validate_only: bool = False,
    ) -> dict[K, RequestResult]:
        try:
            return self._ask(decide, validate_only=validate_only)
        except ExcessivelyLargeBatchError:
            return dict.fromkeys(keys, TOO_LARGE)

    def _in_order(
        self, items: Sequence[object], decide: Callable[[Draft], list[T]], too_large: T
    ) -> list[T]:
        try:
            return self._ask(decide)
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
        if validate_only:
            return results
        return finish(self._controller, results, self._by_local_name(is_done), timeout_ms)

    def _by_local_name(self, is_done: IsDone) -> IsDone:
        """What a bound caller waits for is the topic that its link leads to."""

        def is_done_there(image: Image, name: str) -> bool:
            binding = bind(image.virtual_clusters, self._principal, self._client_id)
            if binding is None:
                return is_done(image, name)
            link = binding.link(name)
            return link is None or is_done(image, link.topic)

        return is_done_there


def either(
    plain: Callable[[Draft], T], bound: Callable[[VirtualClusterNamespace], T]
) -> Callable[[Draft], T]:
    """Decide as for everyone, or for a bound caller in its virtual cluster."""

    def decide(draft: Draft) -> T:
        here = tenant(draft)
        return plain(draft) if here is None else bound(here)

    return decide


def silent(result: RequestResult) -> RequestResult:
    """The result as versions tell it that had no words."""
    return RequestResult(code=result.code, topic_id=result.topic_id)
