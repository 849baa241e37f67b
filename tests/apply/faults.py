"""A fake around a real cluster, for fault injection only: it fails, lies or dies where told to."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from kgitops.cluster.port import Cluster, RegistryEntry, RegistryLog
from kgitops.model.cluster_state import Capabilities, ClusterState, FoundObject, GroupOffsets, Usage
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult

Records = Sequence[tuple[str, Mapping[str, Json] | None]]


class FakeClock:
    """A clock that runs by itself and jumps ahead instead of sleeping."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.ahead = timedelta(seconds=ahead_s)
        self._start = datetime.now(UTC)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return (self.now() - self._start).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


def nothing(*_: object) -> None:
    """The fault that is none."""


class FaultyCluster:
    """Hooks run before and after every wire request and every append; any may raise or kill.

    ``answer`` may change what the broker answered to a request. ``sent`` records the requests
    that reached the cluster, ``boundaries`` counts the hooks passed.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        before_send: Callable[[Sequence[Request]], None] = nothing,
        after_send: Callable[[Sequence[Request]], None] = nothing,
        before_append: Callable[[Records], None] = nothing,
        after_append: Callable[[Records], None] = nothing,
        before_read: Callable[[], None] = nothing,
        before_fence: Callable[[], None] = nothing,
        refuse: Callable[[Request], RequestResult | None] = lambda _: None,
        see: Callable[[ClusterState], ClusterState] = lambda state: state,
    ) -> None:
        self.real = cluster
        self.sent: list[Request] = []
        self.batches: list[tuple[Request, ...]] = []
        self.before_send = before_send
        self.after_send = after_send
        self.before_append = before_append
        self.after_append = after_append
        self.before_read = before_read
        self.before_fence = before_fence
        self.refuse = refuse
        self.see = see

    @property
    def cluster_id(self) -> str:
        return self.real.cluster_id

    @property
    def capabilities(self) -> Capabilities:
        return self.real.capabilities

    @property
    def registry(self) -> RegistryLog:
        return FaultyRegistry(self)

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        self.before_read()
        return self.see(self.real.read_state(topics, links))

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        self.before_read()
        return self.real.read_group_offsets(groups)

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        self.before_read()
        return self.real.read(kind, names)

    def read_config_types(
        self, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        self.before_read()
        return self.real.read_config_types(kind, name, keys)

    def matches_host_ranges(self) -> bool:
        self.before_read()
        return self.real.matches_host_ranges()

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        self.before_read()
        return self.real.read_offsets_since(topics, timestamp_ms)

    def read_usage(
        self, topics: frozenset[str], *, offsets_only: bool = False, groups: bool = True
    ) -> Usage:
        self.before_read()
        return self.real.read_usage(topics, offsets_only=offsets_only, groups=groups)

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        self.before_send(requests)
        refused = {index: self.refuse(request) for index, request in enumerate(requests)}
        taken = [request for index, request in enumerate(requests) if refused[index] is None]
        answers = iter(
            self.real.execute(
                taken, validate_only=validate_only, principal=principal, until_ms=until_ms
            )
            if taken
            else ()
        )
        self.sent += taken
        self.batches.append(tuple(taken))
        self.after_send(requests)
        return [refused[index] or next(answers) for index in range(len(requests))]

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        self.real.cancel_moves(moves, until_ms=until_ms)

    def close(self) -> None:
        self.real.close()


class FaultyRegistry:
    """The registry of a faulty cluster."""

    def __init__(self, cluster: FaultyCluster) -> None:
        self._cluster = cluster

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        return self._cluster.real.registry.read(since)

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        return self._cluster.real.registry.scan(since)

    def append(self, entries: Records) -> int:
        self._cluster.before_append(entries)
        offset = self._cluster.real.registry.append(entries)
        self._cluster.after_append(entries)
        return offset

    def fence(self) -> None:
        self._cluster.before_fence()
        self._cluster.real.registry.fence()

    def unfence(self) -> None:
        self._cluster.real.registry.unfence()

    def topic_id(self) -> str | None:
        return self._cluster.real.registry.topic_id()

    def now_ms(self) -> int:
        return self._cluster.real.registry.now_ms()
