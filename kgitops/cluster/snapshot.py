"""A cluster's state as a file, and that file in the place of a cluster for plans made offline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, get_args

from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import meta_record, owner_record, project_record
from kgitops.cluster.snapshot_json import (
    FORMAT_VERSION,
    KIND,
    SNAPSHOT_KEYS,
    parse_json,
    state_from_json,
    state_to_json,
)
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    GroupOffsets,
    Usage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json, RegistryState
from kgitops.model.requests import Request
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult
from kgitops.virtual_clusters.image import linked_topics

_KAFKA = "kafka"


def write_snapshot(state: ClusterState) -> str:
    """The state as canonical JSON: equal states, but for the time they were read, give one text."""
    return canonical_json(state_to_json(state)).decode() + "\n"


def read_snapshot(text: str, file: str) -> ClusterState:
    """The state that ``write_snapshot`` wrote.

    Raises:
        UnreachableError: the text is no snapshot at all.
        SafetyError: it is one that can't be trusted for planning.
    """
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UnreachableError(
            f"{file} is not a snapshot: it is no complete JSON ({error}); "
            "make a new one with kgitops snapshot -o"
        ) from error
    return state_in(value, file)


def state_in(value: Json, file: str) -> ClusterState:
    """The state in a snapshot's JSON; errors as of ``read_snapshot``."""
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise UnreachableError(
            f'{file} is not a snapshot: it has no "kind": "{KIND}"; '
            "make one with kgitops snapshot -o"
        )
    version = str(value.get("format_version"))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SafetyError(
            f"the snapshot {file} has format version {version}, this kgitops knows "
            f"{FORMAT_VERSION}; read it with another version of kgitops or make a new one"
        )
    if "registry" not in value:
        raise SafetyError(
            f"the snapshot {file} has no registry part, so it is refused for planning: who owns "
            "what is not known; make a new one with kgitops snapshot -o"
        )
    try:
        return state_from_json({key: value[key] for key in SNAPSHOT_KEYS if key in value})
    except ShapeError as error:
        raise SafetyError(
            f"the snapshot {file} can't be trusted: {error}; "
            "make a new one with kgitops snapshot -o"
        ) from error


class SnapshotCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` on a state; nothing can be changed in it."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    @property
    def capabilities(self) -> Capabilities:
        """Every request can be planned, none is checked by a broker."""
        apis = [kind.__name__.removesuffix("Request") for kind in get_args(Request)]
        lowered = self._state.backend == _KAFKA or self._state.lowered is not None
        support = VirtualClusterSupport
        return Capabilities(
            backend=self._state.backend,
            validation=dict.fromkeys(apis, Validator.CLIENT),
            virtual_clusters=support.LOWERED if lowered else support.NATIVE,
        )

    @property
    def registry(self) -> "SnapshotRegistryLog":
        """The registry as it was."""
        return SnapshotRegistryLog(self._state.registry)

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """The state as it was; how topics and groups were used is asked for, as of any cluster."""
        kept = self._state.topics
        if topics is not None:
            topics |= linked_topics(self._state.virtual_clusters, links)
            kept = {name: topic for name, topic in kept.items() if name in topics}
        return replace(self._state, topics=kept, usage={}, group_offsets={})

    def read_usage(
        self,
        topics: frozenset[str],
        *,
        offsets_only: bool = False,  # noqa: ARG002 (all of it was read)
    ) -> Usage:
        """What was read with the state; what could not be is said there."""
        return Usage(topics={k: v for k, v in self._state.usage.items() if k in topics})

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """What was read with the state."""
        return {k: v for k, v in self._state.group_offsets.items() if k in groups}

    def execute(
        self,
        requests: Sequence[Request],  # noqa: ARG002 (whatever is asked)
        *,
        validate_only: bool,  # noqa: ARG002
        principal: str,  # noqa: ARG002
        until_ms: int | None = None,  # noqa: ARG002
    ) -> Sequence[RequestResult]:
        """Refuse: nobody is there to answer."""
        _refuse()

    def cancel_moves(
        self,
        moves: Mapping[str, Sequence[int]],  # noqa: ARG002
        *,
        until_ms: int | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse: nobody is there to answer."""
        _refuse()

    def close(self) -> None:
        """Nothing is held."""


class SnapshotRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on what a registry added up to."""

    def __init__(self, state: RegistryState | None) -> None:
        self._state = state

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Records that add up to the same; their own offsets and times are not kept."""
        if self._state is None:
            return None
        records = [
            meta_record(),
            *(
                project_record(identity, name, self._state.formerly.get(identity, ()))
                for identity, name in self._state.projects.items()
            ),
            *(owner_record(address, owner) for address, owner in self._state.owners.items()),
            *((f"vcs/{key}", value) for key, value in self._state.virtual_clusters.items()),
        ]
        first = self._state.offset - len(records) + 1
        return [
            RegistryEntry(offset=offset, key=key, value=value, timestamp_ms=0)
            for offset, (key, value) in enumerate(records, start=first)
            if offset >= since
        ]

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """The same records: what could not be read is in no snapshot."""
        return self.read(since)

    def append(
        self,
        entries: Sequence[tuple[str, Mapping[str, Json] | None]],  # noqa: ARG002
    ) -> int:
        """Refuse: nothing can be kept."""
        _refuse()

    def fence(self) -> None:
        """Refuse: nothing can be kept."""
        _refuse()

    def unfence(self) -> None:
        """Nothing was fenced."""

    def now_ms(self) -> int:
        """Refuse: time does not pass in a snapshot."""
        _refuse()


def _refuse() -> NoReturn:
    raise UnreachableError(
        "a snapshot is not a cluster and can't be changed; give the cluster itself with -c"
    )
