"""A logical cluster around a physical one: lowers the requests about virtual clusters."""

import threading
from collections.abc import Callable, Mapping, Sequence
from uuid import uuid4

from msgspec.structs import replace

from kgitops.cluster.lowered.requests import (
    carry_out,
    in_batches,
    links_of,
    must_lower,
    refusal,
    topics_of,
)
from kgitops.cluster.lowered.state_cache import LiftedStateCache
from kgitops.cluster.port import Cluster, RegistryLog
from kgitops.cluster.wrapping import WrappedCluster
from kgitops.lowering.effects import LoweredBatch
from kgitops.lowering.lowerer import Lowerer, lower_batch
from kgitops.lowering.report import super_users
from kgitops.model.cluster_state import Capabilities, ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import UnreachableError
from kgitops.model.requests import CreateTopicRequest, Request, api_name
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import OK, RequestResult

_VIRTUAL_CLUSTERS = dict.fromkeys(
    ("CreateVirtualCluster", "AlterVirtualCluster", "DeleteVirtualCluster"), Validator.CLIENT
)
_READ_ATTEMPTS = 5


class LoweredCluster(WrappedCluster[Cluster]):
    """Implements :class:`kgitops.cluster.port.Cluster` around a cluster without virtual clusters.

    Virtual clusters are kept in the registry (VC-326), and ACLs, quotas and names on the brokers
    express them. A cluster without virtual clusters in its registry gets exactly the requests that
    it would get without this adapter (VC-004).
    """

    def __init__(
        self, physical: Cluster, new_uuid: Callable[[], str] = lambda: str(uuid4())
    ) -> None:
        super().__init__(physical)
        self._new_uuid = new_uuid
        self._lock = threading.RLock()
        self._lifted = LiftedStateCache()

    @property
    def capabilities(self) -> Capabilities:
        """The physical cluster's capabilities, plus virtual clusters, which kgitops checks."""
        own = self.physical.capabilities
        return replace(
            own,
            validation={**own.validation, **_VIRTUAL_CLUSTERS},
            virtual_clusters=VirtualClusterSupport.LOWERED,
        )

    @property
    def registry(self) -> RegistryLog:
        """The registry of the physical cluster."""
        return self.physical.registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """Read the logical state, with the topics that ``links`` lead to."""
        if topics is None:
            return self._lifted.lift(self.physical.read_state())
        names = topics | _targets(self._lifted.newest, links)
        for _ in range(_READ_ATTEMPTS):
            state = self._lifted.lift(self.physical.read_state(names))
            required = topics | _targets(state, links)
            if required <= names:
                selected = {name: state.topics[name] for name in state.topics if name in required}
                return replace(state, topics=selected)
            names |= required
        raise UnreachableError(
            "the links of virtual clusters change faster than they can be read; try again later"
        )

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Carry out one batch; one that involves no virtual cluster goes to brokers unchanged."""
        if not any(map(self._must_lower, requests)):
            return self.physical.execute(
                requests, validate_only=validate_only, principal=principal, until_ms=until_ms
            )
        refusals = [refusal(request) for request in requests]
        valid = [
            request for request, refused in zip(requests, refusals, strict=True) if refused is None
        ]
        with self._lock:
            results = iter(
                self._lower(valid, principal, validate_only=validate_only, until_ms=until_ms)
            )
        return [next(results) if refused is None else refused for refused in refusals]

    def _lower(
        self,
        requests: Sequence[Request],
        principal: str,
        *,
        validate_only: bool,
        until_ms: int | None,
    ) -> Sequence[RequestResult]:
        """Lower and carry out requests, with records before the first and after the last step."""
        state = self.read_state(topics_of(requests), links_of(requests))
        users = super_users(state)
        if validate_only:
            batch = lower_batch(state, requests, self._new_uuid, users, principal)
            return self._validate(batch, principal)
        lowerer = self._lifted.take_lowerer(state)
        if lowerer is not None:
            lowerer.continue_from(state, users, principal)
        else:
            lowerer = Lowerer(state, self._new_uuid, users, principal)
        batch = lowerer.lower_batch(requests)
        if batch.before:
            self.registry.append(batch.before)
        answers = carry_out(self.physical, batch.physical, principal=principal, until_ms=until_ms)
        outcome = batch.finish(answers)
        if outcome.records:
            self.registry.append(outcome.records)
        if all(answer.ok for answer in answers):
            self._lifted.expect(
                lowerer,
                lowerer.with_topic_ids(_created_topic_ids(requests, outcome.results)),
                (*batch.before, *outcome.records),
                [physical.request for physical in batch.physical],
            )
        return outcome.results

    def _validate(self, batch: LoweredBatch, principal: str) -> Sequence[RequestResult]:
        """Have brokers validate the physical requests that they can; the others count as OK."""
        answers = [OK for _ in batch.physical]
        validators = self.physical.capabilities.validation
        checkable = [
            index
            for index, physical in enumerate(batch.physical)
            if validators.get(api_name(physical.request)) is Validator.BROKER
        ]
        remaining = iter(checkable)
        for group in in_batches([batch.physical[index] for index in checkable]):
            validated = self.physical.execute(
                [physical.request for physical in group], validate_only=True, principal=principal
            )
            for answer, index in zip(validated, remaining, strict=False):
                answers[index] = replace(answer, topic_id=None)
        return batch.finish(answers).results

    def _must_lower(self, request: Request) -> bool:
        if must_lower(request, lowered=False):
            return True
        return must_lower(request, lowered=True) and self._is_lowered()

    def _is_lowered(self) -> bool:
        """True if the registry had records of virtual clusters when it was last read."""
        state = self._lifted.newest or self.read_state(frozenset())
        return state.registry is not None and bool(state.registry.virtual_clusters)


def _created_topic_ids(
    requests: Sequence[Request], results: Sequence[RequestResult]
) -> Mapping[LocalName, str]:
    """The ids of the topics that were created in virtual clusters."""
    return {
        request.local: result.topic_id
        for request, result in zip(requests, results, strict=True)
        if isinstance(request, CreateTopicRequest) and request.local and result.topic_id
    }


def _targets(state: ClusterState | None, links: frozenset[LocalName]) -> frozenset[str]:
    """The topics that links lead to, or will lead to once their topics are created."""
    topics: set[str] = set()
    if state is None:
        return frozenset()
    for local in links:
        link = state.link(local)
        pending = state.lowered.pending.get(local) if state.lowered else None
        topics.update(name for name in (link.topic if link else None, pending) if name is not None)
    return frozenset(topics)
