"""A logical cluster around a physical one: what is asked of virtual clusters is lowered."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from kgitops.cluster.lowered.requests import (
    carry_out,
    concerns,
    in_batches,
    links_of,
    refusal,
    topics_of,
)
from kgitops.cluster.lowered.state_cache import LiftedStateCache
from kgitops.cluster.port import Cluster, RegistryLog
from kgitops.lowering.effects import LoweredBatch
from kgitops.lowering.lowerer import Lowerer, lower_batch
from kgitops.lowering.report.report import super_users
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    GroupOffsets,
    Usage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.errors import UnreachableError
from kgitops.model.requests import CreateTopicRequest, Request, api_name
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import OK, RequestResult

_VIRTUAL_CLUSTERS = dict.fromkeys(
    ("CreateVirtualCluster", "AlterVirtualCluster", "DeleteVirtualCluster"), Validator.CLIENT
)
_LOOKS = 5


class LoweredCluster:
    """Implements :class:`kgitops.cluster.port.Cluster` around one that has no virtual clusters.

    They are kept in the registry (VC-326), and what brokers can hold to stands for them on the
    brokers. A cluster of which the registry knows no virtual cluster is asked nothing more and
    nothing less than without this (VC-004).
    """

    def __init__(self, physical: Cluster, mint: Callable[[], str] = lambda: str(uuid4())) -> None:
        self.physical = physical
        self._mint = mint
        self._turn = threading.RLock()
        self._lifted = LiftedStateCache()

    @property
    def capabilities(self) -> Capabilities:
        """The physical cluster's, and virtual clusters, which kgitops itself checks."""
        own = self.physical.capabilities
        return replace(
            own,
            validation={**own.validation, **_VIRTUAL_CLUSTERS},
            virtual_clusters=VirtualClusterSupport.LOWERED,
        )

    @property
    def registry(self) -> RegistryLog:
        """The physical cluster's."""
        return self.physical.registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """The logical cluster now, with the topics that ``links`` lead to."""
        if topics is None:
            return self._lifted.lift(self.physical.read_state())
        names = topics | _targets(self._lifted.newest, links)
        for _ in range(_LOOKS):
            state = self._lifted.lift(self.physical.read_state(names))
            wanted = topics | _targets(state, links)
            if wanted <= names:
                found = {name: state.topics[name] for name in state.topics if name in wanted}
                return replace(state, topics=found)
            names |= wanted
        raise UnreachableError(
            "the links of virtual clusters change faster than they can be read; try again when it "
            "is calmer"
        )

    def read_usage(self, topics: frozenset[str], *, offsets_only: bool = False) -> Usage:
        """What these physical topics hold and who reads them."""
        return self.physical.read_usage(topics, offsets_only=offsets_only)

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """What these physical groups have committed."""
        return self.physical.read_group_offsets(groups)

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Carry out one batch; what concerns no virtual cluster goes to brokers as it is."""
        if not any(map(self._concerned, requests)):
            return self.physical.execute(
                requests, validate_only=validate_only, principal=principal, until_ms=until_ms
            )
        refused = [refusal(request) for request in requests]
        sound = [request for request, why in zip(requests, refused, strict=True) if why is None]
        with self._turn:
            results = iter(
                self._lower(sound, principal, validate_only=validate_only, until_ms=until_ms)
            )
        return [next(results) if why is None else why for why in refused]

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel the reassignments of physical partitions."""
        self.physical.cancel_moves(moves, until_ms=until_ms)

    def close(self) -> None:
        """Close the physical cluster."""
        self.physical.close()

    def _lower(
        self,
        requests: Sequence[Request],
        principal: str,
        *,
        validate_only: bool,
        until_ms: int | None,
    ) -> Sequence[RequestResult]:
        """What is asked is written down before it is begun and once more when it is done."""
        state = self.read_state(topics_of(requests), links_of(requests))
        who = super_users(state), principal
        if validate_only:
            return self._judge(lower_batch(state, requests, self._mint, *who), principal)
        lowering = self._lifted.take_lowerer(state)
        lowering = (
            lowering.continue_from(state, *who) if lowering else Lowerer(state, self._mint, *who)
        )
        taken = lowering.lower_batch(requests)
        if taken.before:
            self.registry.append(taken.before)
        answers = carry_out(self.physical, taken.physical, principal=principal, until_ms=until_ms)
        finished = taken.finish(answers)
        if finished.records:
            self.registry.append(finished.records)
        if all(answer.ok for answer in answers):
            self._lifted.expect(
                lowering,
                lowering.with_topic_ids(_made(requests, finished.results)),
                (*taken.before, *finished.records),
                [physical.request for physical in taken.physical],
            )
        return finished.results

    def _judge(self, taken: LoweredBatch, principal: str) -> Sequence[RequestResult]:
        """What brokers would say, of what they can say it, where nothing else refuses it."""
        answers = [OK for _ in taken.physical]
        known = self.physical.capabilities.validation
        places = [
            place
            for place, physical in enumerate(taken.physical)
            if known.get(api_name(physical.request)) is Validator.BROKER
        ]
        left = iter(places)
        for batch in in_batches([taken.physical[place] for place in places]):
            judged = self.physical.execute(
                [physical.request for physical in batch], validate_only=True, principal=principal
            )
            for answer, place in zip(judged, left, strict=False):
                answers[place] = replace(answer, topic_id=None)
        return taken.finish(answers).results

    def _concerned(self, request: Request) -> bool:
        if concerns(request, lowered=False):
            return True
        return concerns(request, lowered=True) and self._is_lowered()

    def _is_lowered(self) -> bool:
        """Whether the registry knew anything of virtual clusters when it was last read."""
        known = self._lifted.newest or self.read_state(frozenset())
        return known.registry is not None and bool(known.registry.virtual_clusters)


def _made(requests: Sequence[Request], results: Sequence[RequestResult]) -> Mapping[LocalName, str]:
    """The ids of the topics that were made in virtual clusters."""
    return {
        request.local: result.topic_id
        for request, result in zip(requests, results, strict=True)
        if isinstance(request, CreateTopicRequest) and request.local and result.topic_id
    }


def _targets(state: ClusterState | None, links: frozenset[LocalName]) -> frozenset[str]:
    """The topics that links lead to, or will when their topics are made."""
    found: set[str] = set()
    if state is None:
        return frozenset()
    for local in links:
        link = state.link(local)
        pending = state.lowered.pending.get(local) if state.lowered else None
        found.update(name for name in (link.topic if link else None, pending) if name is not None)
    return frozenset(found)
