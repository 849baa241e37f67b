"""Snapshots: a cluster's state as a file, which can stand in for the cluster of a plan."""

from collections.abc import Mapping, Sequence
from typing import NoReturn, get_args

from msgspec.structs import replace

from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import meta_record, owner_record, project_record, takeover_records
from kgitops.cluster.snapshot_json import (
    FORMAT_VERSION,
    KIND,
    SnapshotDocument,
    snapshot_document,
    state_of,
)
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    FoundObject,
    GroupOffsets,
    Usage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.garbage_collection import without_garbage_collection
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.codec import from_json
from kgitops.model.json.strict import ShapeError, parse_whole_numbers
from kgitops.model.registry import Json, RegistryState
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.users import FoundUser
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult
from kgitops.model.wording import format_version_text
from kgitops.virtual_clusters.image import linked_topics

_KAFKA = "kafka"
_SHOWN = 5


def write_snapshot(state: ClusterState) -> str:
    """Write the state as canonical JSON; equal states give the same text, apart from the time."""
    with without_garbage_collection():
        return canonical_json(snapshot_document(state)).decode() + "\n"


def read_snapshot(text: str, file: str) -> ClusterState:
    """Read the state that ``write_snapshot`` wrote.

    Raises:
        UnreachableError: the text is not a snapshot.
        SafetyError: the snapshot can't be trusted for planning.
    """
    with without_garbage_collection():
        return _read(text, file)


def _read(text: str, file: str) -> ClusterState:
    try:
        value = parse_whole_numbers(text)
    except (ValueError, RecursionError) as error:
        raise UnreachableError(
            f"{file} is not a snapshot: it is not complete JSON ({error}); "
            "make a new one with kgitops snapshot -o"
        ) from error
    return state_from_json(value, file)


def state_from_json(value: Json, file: str) -> ClusterState:
    """Read the state from a snapshot's JSON; errors as for ``read_snapshot``."""
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise UnreachableError(
            f'{file} is not a snapshot: it has no "kind": "{KIND}"; '
            "make one with kgitops snapshot -o"
        )
    version = value.get("format_version")
    if str(version).partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SafetyError(
            f"the snapshot {file} {format_version_text(version)}, this kgitops knows "
            f"{FORMAT_VERSION}; read it with another version of kgitops or make a new one"
        )
    if "registry" not in value:
        raise SafetyError(
            f"the snapshot {file} has no registry part, so it is refused for planning: who owns "
            "what is not known; make a new one with kgitops snapshot -o"
        )
    try:
        # A newer minor version may have more parts.
        known = {key: value[key] for key in SnapshotDocument.__struct_fields__ if key in value}
        return state_of(from_json(SnapshotDocument, known, "the snapshot"))
    except ShapeError as error:
        raise SafetyError(
            f"the snapshot {file} can't be trusted: {error}; "
            "make a new one with kgitops snapshot -o"
        ) from error


class SnapshotCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` on a state, which can't be changed."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    @property
    def cluster_id(self) -> str:
        """The id of the cluster that was read."""
        return self._state.cluster_id

    @property
    def capabilities(self) -> Capabilities:
        """Every request can be planned; no broker validates any."""
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
        """Return the state without usage and group offsets, which are read separately."""
        selected = self._state.topics
        if topics is not None:
            topics |= linked_topics(self._state.virtual_clusters, links)
            selected = {name: topic for name, topic in selected.items() if name in topics}
        return replace(self._state, topics=selected, usage={}, group_offsets={})

    def read_usage(
        self,
        topics: frozenset[str],
        *,
        offsets_only: bool = False,  # noqa: ARG002 (all of it was read)
        groups: bool = True,  # noqa: ARG002
    ) -> Usage:
        """Return the usage that was read with the state; the state has the reasons for gaps."""
        return Usage(topics={k: v for k, v in self._state.usage.items() if k in topics})

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Return the offsets that were read with the state."""
        return {k: v for k, v in self._state.group_offsets.items() if k in groups}

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        """Return the users that were read with the state; refuse the others, if there are any.

        Raises:
            UnreachableError: a snapshot does not hold them.
        """
        if kind is not Kind.USER:
            if names is None:
                raise UnreachableError(
                    f"the snapshot does not hold the {kind.plural}; ask the cluster itself"
                )
            _check_none(f"the {kind.plural}", names)
            return ()
        if kind not in self._state.asked:
            raise UnreachableError(
                "the snapshot does not hold the users who log in by SCRAM; make a new one with "
                "kgitops snapshot --users, or fleet snapshot --users"
            )
        return [it for it in self._state.of(FoundUser) if names is None or it.name in names]

    def read_config_types(
        self,
        kind: ConfigResourceType | None,
        name: str,
        keys: frozenset[str],
    ) -> Mapping[str, ConfigType]:
        """Refuse, if there are any: a snapshot does not hold them."""
        del kind, name
        _check_none("the types of the configs", keys)
        return {}

    def matches_host_ranges(self) -> bool:
        """False: a snapshot does not hold the version of the cluster."""
        return False

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Refuse, if there are any: a snapshot does not hold them."""
        del timestamp_ms
        _check_none("offsets by time of the topics", topics)
        return {}

    def execute(
        self,
        requests: Sequence[Request],  # noqa: ARG002 (whatever is asked)
        *,
        validate_only: bool,  # noqa: ARG002
        principal: str,  # noqa: ARG002
        until_ms: int | None = None,  # noqa: ARG002
    ) -> Sequence[RequestResult]:
        """Refuse: there is no cluster to answer."""
        _refuse()

    def cancel_moves(
        self,
        moves: Mapping[str, Sequence[int]],  # noqa: ARG002
        *,
        until_ms: int | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse: there is no cluster to answer."""
        _refuse()

    def close(self) -> None:
        """Nothing is held."""


class SnapshotRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on the state of a registry."""

    def __init__(self, state: RegistryState | None) -> None:
        self._state = state

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Return records that give the same state; the original offsets and times are not kept."""
        if self._state is None:
            return None
        records = [
            meta_record(self._state.schema_version),
            *(
                project_record(identity, name, self._state.formerly.get(identity, ()))
                for identity, name in self._state.projects.items()
            ),
            *(owner_record(address, owner) for address, owner in self._state.owners.items()),
            *((f"vcs/{key}", value) for key, value in self._state.virtual_clusters.items()),
            *takeover_records(self._state),
        ]
        first = self._state.offset - len(records) + 1
        return [
            RegistryEntry(offset=offset, key=key, value=value, timestamp_ms=0)
            for offset, (key, value) in enumerate(records, start=first)
            if offset >= since
        ]

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Return the same records: a snapshot has no unreadable ones."""
        return self.read(since)

    def topic_id(self) -> str | None:
        """The id of the registry that was read."""
        return None if self._state is None else self._state.topic_id

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


def _check_none(what: str, names: frozenset[str]) -> None:
    if names:
        some = ", ".join(sorted(names)[:_SHOWN])
        raise UnreachableError(
            f"a snapshot does not hold {what} that this project declares or manages ({some}); plan "
            "with the cluster itself, or leave them out of this run with metadata.clusters"
        )


def _refuse() -> NoReturn:
    raise UnreachableError(
        "a snapshot is not a cluster and can't be changed; give the cluster itself with -c"
    )
