"""Logical requests on a Kafka without virtual clusters: decided, and what they take physically."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import INEXPRESSIBLE, is_logical
from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.admins import Administrator
from kgitops.lowering.alterations import Alterations
from kgitops.lowering.effects import (
    Effects,
    FinalRecord,
    NotLowerable,
    PhysicalRequest,
    Step,
    wording,
)
from kgitops.lowering.missing import repaired_acls, repaired_quotas
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quotas.changes import QuotaChanges
from kgitops.lowering.quotas.table import user_of
from kgitops.lowering.records import Status, acl_record, gone
from kgitops.lowering.topics import Topics, lost_registry
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
    with_labels,
)
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
)
from kgitops.model.resources.virtual_clusters import LocalName, VirtualCluster
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.records import VirtualClusterTopicLinkRecord
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal


def step(
    state: ClusterState,
    requests: Sequence[Request],
    mint: Callable[[], str],
    super_users: Collection[str] = (),
    principal: str | None = None,
) -> Step:
    """One batch on a lifted state; for several in a row :class:`Lowering` keeps its indexes."""
    return Lowering(state, mint, super_users, principal).step(requests)


class Lowering:
    """A logical state, to which batches of logical requests are applied one after the other.

    ``state`` is a lifted one (:func:`kgitops.lowering.lifting.lift`). ``mint`` gives the uuids of
    new topics, ``NEW_UUID`` where only a plan is made. ``principal`` asks for everything, and is
    refused what it has no right to (VC-146); None: no rights are looked at. Nothing is carried out
    here: each step assumes that the one before was, wholly.
    """

    def __init__(
        self,
        state: ClusterState,
        mint: Callable[[], str],
        super_users: Collection[str] = (),
        principal: str | None = None,
    ) -> None:
        lowered = state.lowered or Lowered()
        self._state = state
        self._acls = set(state.acls)
        self._missing_acls = set(lowered.missing_acls)
        self._begun_acls, self._begun_quotas = set(lowered.begun_acls), set(lowered.begun_quotas)
        self._missing_quotas = dict(lowered.missing_quotas)
        self._virtual_clusters = dict(state.virtual_clusters)
        self._delta = VirtualClustersDelta(build_image(state.virtual_clusters.values()))
        self._scoped = ScopedAcls((*state.acls, *lowered.missing_acls))
        self._bindings = AclChanges(lowered.acls.values(), state.acls)
        missing = (
            ClientQuotaState(entity=entity, quotas={key: value})
            for (entity, key), value in lowered.missing_quotas.items()
        )
        self._quotas = QuotaChanges(lowered.quotas.values(), (*state.quotas.values(), *missing))
        self._namespaces = Namespaces(
            self._delta, state.virtual_clusters, self._scoped, self._bindings, self._quotas
        )
        self._topics = Topics(state.topics, lowered.pending, self._namespaces, mint)
        self._ask_as(super_users, principal)

    def take_up(
        self, state: ClusterState, super_users: Collection[str], principal: str | None
    ) -> "Lowering":
        """Go on, for this principal: ``state`` is what the last step led to, its topics read anew.

        What was worked out for the steps so far stays, so that many of them cost no more each.
        """
        self._state = state
        self._topics.by_name = dict(state.topics)
        self._ask_as(super_users, principal)
        return self

    def made(self, topic_ids: Mapping[LocalName, str]) -> ClusterState:
        """The state after the last step, where these topics that it asked for have these ids."""
        for local, topic_id in topic_ids.items():
            link = self._known(local.virtual_cluster).links[local.name]
            self._delta.replay(
                VirtualClusterTopicLinkRecord(
                    virtual_cluster=local.virtual_cluster,
                    link_name=local.name,
                    topic=link.topic,
                    topic_id=topic_id,
                )
            )
        if topic_ids:
            self._state = self._after()
        return self._state

    def concerns(self, request: Request) -> bool:
        """Whether the request is any different from what it is on brokers alone."""
        match request:
            case CreateTopicRequest() | AlterTopicRequest() | DeleteRecordsRequest():
                return request.local is not None
            case DeleteTopicRequest():
                linked = self._delta.links_to(request.topic)
                return request.local is not None or bool(linked)
            case CreateAclRequest() | DeleteAclRequest():
                return is_logical(request.binding) or request.binding in self._bindings.lowered
            case AlterClientQuotaRequest():
                return request.entity[0][0] == VIRTUAL_CLUSTER or bool(self._users(request))
            case AlterBrokerRequest():
                return False
            case _:
                return True

    def step(self, requests: Sequence[Request]) -> Step:
        """Apply one batch of requests of one api."""
        effects = Effects()
        refused = self._unauthorized(requests)
        results = [
            refused.get(asker) or self._decide(request, asker, effects)
            for asker, request in enumerate(requests)
        ]
        self._clean(requests, results)
        self._bindings.finish(effects)
        self._quotas.finish(effects, self._whereabouts)
        self._look_again()
        self._state = self._after()
        return Step(
            results=tuple(results),
            state=self._state,
            before=effects.first,
            physical=tuple(_labelled(physical, requests) for physical in effects.physical),
            after=tuple(effects.after),
        )

    def _ask_as(self, super_users: Collection[str], principal: str | None) -> None:
        self._alterations = Alterations(self._namespaces, self._topics.topic_id, super_users)
        self._super_users = super_users
        self._principal = principal

    def _clean(self, requests: Sequence[Request], results: Sequence[RequestResult]) -> None:
        """Whoever is about virtual clusters takes along what an interrupted apply left over."""
        for asker, (request, result) in enumerate(zip(requests, results, strict=True)):
            if result.ok and self.concerns(request):
                self._bindings.clean(asker)
                self._quotas.clean(asker)
                return

    def _unauthorized(self, requests: Sequence[Request]) -> Mapping[int, RequestResult]:
        """Those for which the principal has not the right, by the ACLs before the batch."""
        if self._principal is None:
            return {}
        administrator = Administrator(self._state, self._principal, self._super_users)
        refusals = enumerate(map(administrator.refusal, requests))
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return {i: RequestResult(code=code, message=why) for i, why in refusals if why}

    def _decide(self, request: Request, asker: int, effects: Effects) -> RequestResult:
        try:
            self._do(request, asker, effects)
        except VirtualClusterRefusal as refusal:
            return RequestResult(code=refusal.code, message=str(refusal))
        except NotLowerable as refusal:
            return RequestResult(code=ErrorCode.INVALID_REQUEST, message=str(refusal))
        return OK

    def _do(self, request: Request, asker: int, effects: Effects) -> None:
        match request:
            case CreateTopicRequest():
                self._topics.create(request, asker, effects)
            case AlterTopicRequest() | DeleteRecordsRequest():
                self._topics.change(request, asker, effects)
            case DeleteTopicRequest():
                self._topics.delete(request, asker, effects)
            case CreateAclRequest():
                self._create_acl(request, asker, effects)
            case DeleteAclRequest():
                self._delete_acl(request, asker, effects)
            case AlterClientQuotaRequest():
                self._quota(request, asker, effects)
            case CreateVirtualClusterRequest():
                lost = lost_registry(self._state)
                if lost is not None:
                    raise NotLowerable(lost)
                self._alterations.create(request, asker, effects)
            case AlterVirtualClusterRequest():
                self._alterations.alter(request, asker, effects)
            case DeleteVirtualClusterRequest():
                self._alterations.delete(request, asker, effects)
            case CopyGroupOffsetsRequest() | DeleteGroupRequest():
                self._known(request.virtual_cluster)
                _pass(request, asker, effects)
            case AlterBrokerRequest():
                _pass(request, asker, effects)
            case _:
                assert_never(request)

    def _create_acl(self, request: CreateAclRequest, asker: int, effects: Effects) -> None:
        binding = request.binding
        if not is_logical(binding):
            self._bindings.create(binding, asker, effects)
        elif binding not in self._acls:
            if binding.resource_type in INEXPRESSIBLE:
                raise NotLowerable(
                    f"L-ACL-TOKEN: bindings on {binding.resource_type} can't be kept in a virtual "
                    "cluster on this Kafka; make a global one"
                )
            self._namespaces.allow(binding, asker)
            if binding not in self._missing_acls:
                effects.marks.append((asker, acl_record(binding, Status.PENDING)))
            effects.after.append(FinalRecord(record=acl_record(binding), askers=(asker,)))
            self._missing_acls.discard(binding)
            self._begun_acls.discard(binding)
        self._acls.add(binding)

    def _delete_acl(self, request: DeleteAclRequest, asker: int, effects: Effects) -> None:
        binding = request.binding
        if not is_logical(binding):
            self._bindings.delete(request, asker, effects)
        elif any(binding in it for it in (self._acls, self._missing_acls, self._begun_acls)):
            self._namespaces.disallow(binding, asker)
            effects.marks.append((asker, acl_record(binding, Status.DELETING)))
            effects.after.append(FinalRecord(record=gone(acl_record(binding)), askers=(asker,)))
            self._missing_acls.discard(binding)
            self._begun_acls.discard(binding)
        self._acls.discard(binding)

    def _quota(self, request: AlterClientQuotaRequest, asker: int, effects: Effects) -> None:
        kind, name = request.entity[0]
        if kind == VIRTUAL_CLUSTER:
            if name == CLUSTER_NAME:
                raise VirtualClusterRefusal(
                    Symbol.RESERVED_NAME, f"{CLUSTER_NAME} is the physical cluster itself"
                )
            self._quotas.mean(request, asker)
            self._namespaces.recompile(name, asker)
            for key in request.quotas:
                self._missing_quotas.pop((request.entity, key), None)
                self._begun_quotas.discard((request.entity, key))
            return
        users = self._users(request)
        self._quotas.mean(request, asker)
        for user in users:
            self._quotas.touch(user, asker)
        if user_of(request.entity) not in users:
            _pass(request, asker, effects)

    def _users(self, request: AlterClientQuotaRequest) -> frozenset[str]:
        """The members whose physical quotas a global request may change."""
        kind, name = request.entity[0]
        if kind == USER and name is not None:
            bound = self._delta.of_user(f"User:{name}") is not None
            return frozenset({name} if bound or self._quotas.knows(name) else ())
        if kind in (USER, CLIENT_ID) and self._quotas.table.capped:
            return self._namespaces.users()
        return frozenset()

    def _known(self, name: str) -> VirtualCluster:
        found = self._delta.get(name)
        if found is None:
            raise VirtualClusterRefusal(Symbol.VC_NOT_FOUND, f"there is no virtual cluster {name}")
        return found

    def _whereabouts(self, user: str) -> VirtualCluster | None:
        name = self._delta.of_user(f"User:{user}")
        return None if name is None else self._delta.get(name)

    def _look_again(self) -> None:
        """What was amiss may have been put right by the way."""
        acls = tuple(repaired_acls(self._missing_acls, self._namespaces, self._bindings))
        self._missing_acls.difference_update(acls)
        self._acls.update(acls)
        for place in tuple(repaired_quotas(self._missing_quotas, self._namespaces, self._quotas)):
            del self._missing_quotas[place]
            self._quotas.changed = True

    def _after(self) -> ClusterState:
        for name in self._delta.changed:
            found = self._delta.get(name)
            if found is None:
                self._virtual_clusters.pop(name, None)
            else:
                self._virtual_clusters[name] = found
        lowered = Lowered(
            acls=dict(self._bindings.lowered),
            quotas=dict(self._quotas.lowered),
            pending=dict(self._topics.pending),
            missing_acls=frozenset(self._missing_acls),
            missing_quotas=dict(self._missing_quotas),
            begun_acls=frozenset(self._begun_acls),
            begun_quotas=frozenset(self._begun_quotas),
        )
        return replace(
            self._state,
            topics=dict(self._topics.by_name),
            acls=frozenset(self._acls),
            quotas=self._meant_quotas(),
            virtual_clusters=dict(sorted(self._virtual_clusters.items())),
            lowered=lowered if self._virtual_clusters or lowered != Lowered() else None,
        )

    def _meant_quotas(self) -> Mapping[ClientQuotaEntity, ClientQuotaState]:
        if not self._quotas.changed:
            return self._state.quotas
        self._quotas.changed = False
        quotas = {entity: dict(s.quotas) for entity, s in self._quotas.table.states().items()}
        for entity, key in self._missing_quotas:
            del quotas[entity][key]
        return {
            entity: ClientQuotaState(entity=entity, quotas=values)
            for entity, values in quotas.items()
            if values
        }


def _labelled(physical: PhysicalRequest, requests: Sequence[Request]) -> PhysicalRequest:
    """Policies of the brokers are told the labels of what it is done for."""
    labels = next(filter(None, (requests[asker].labels for asker in physical.askers)), None)
    if labels is None:
        return physical
    return replace(physical, request=with_labels(physical.request, labels))


def _pass(request: Request, asker: int, effects: Effects) -> None:
    effects.creations.append(
        PhysicalRequest(request=request, askers=(asker,), line=wording(request))
    )
