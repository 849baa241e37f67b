"""Decides logical requests for a Kafka without virtual clusters, as physical requests."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.admins import Administrator
from kgitops.lowering.effects import (
    Effects,
    FinalRecord,
    LoweredBatch,
    NotLowerable,
    PhysicalRequest,
)
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quota_changes import QuotaChanges
from kgitops.lowering.records import (
    RecordStatus,
    link_record,
    member_record,
    removal,
    user_record,
    virtual_cluster_record,
)
from kgitops.lowering.rules import DeclaredRules
from kgitops.lowering.topics import TopicChanges, lost_registry
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.records import Record
from kgitops.model.lowered import Lowered
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaState
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
)
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters import deciding
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.records import (
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal


def lower_batch(
    state: ClusterState,
    requests: Sequence[req.Request],
    new_uuid: Callable[[], str],
    super_users: Collection[str] = (),
    principal: str | None = None,
) -> LoweredBatch:
    """Lower one batch on a lifted state; for several in a row use one :class:`Lowerer`."""
    return Lowerer(state, new_uuid, super_users, principal).lower_batch(requests)


class Lowerer:
    """Applies batches of logical requests to a logical state, one after the other.

    ``state`` is a lifted one (:func:`kgitops.lowering.lifting.lift`). ``new_uuid`` returns the
    uuids of new topics, ``NEW_UUID`` while planning. Requests that ``principal`` has no right to
    are refused (VC-146); with None rights are not checked. Nothing is sent to a cluster here: each
    batch assumes that the previous one was carried out completely.
    """

    def __init__(
        self,
        state: ClusterState,
        new_uuid: Callable[[], str],
        super_users: Collection[str] = (),
        principal: str | None = None,
    ) -> None:
        lowered = state.lowered or Lowered()
        self._state = state
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
        self._rules = DeclaredRules(
            state, self._delta, self._namespaces, self._bindings, self._quotas
        )
        self._topics = TopicChanges(state.topics, lowered.pending, self._namespaces, new_uuid)
        self._act_as(super_users, principal)

    def continue_from(
        self, state: ClusterState, super_users: Collection[str], principal: str | None
    ) -> "Lowerer":
        """Continue with ``state``, the result of the last batch with topics that were read again.

        The indexes are kept, so that the cost of a batch does not depend on the size of the state.
        """
        self._state = state
        self._topics.by_name = dict(state.topics)
        self._act_as(super_users, principal)
        return self

    def with_topic_ids(self, topic_ids: Mapping[LocalName, str]) -> ClusterState:
        """The state after the last batch, with the ids of the topics that it created."""
        for local, topic_id in topic_ids.items():
            link = self._virtual_cluster(local.virtual_cluster).links[local.name]
            self._delta.replay(
                VirtualClusterTopicLinkRecord(
                    virtual_cluster=local.virtual_cluster,
                    link_name=local.name,
                    topic=link.topic,
                    topic_id=topic_id,
                )
            )
        if topic_ids:
            self._state = self._next_state()
        return self._state

    def involves_virtual_clusters(self, request: req.Request) -> bool:
        """True if brokers alone could not carry out the request correctly."""
        match request:
            case req.CreateTopicRequest() | req.AlterTopicRequest() | req.DeleteRecordsRequest():
                return request.local is not None
            case req.DeleteTopicRequest():
                linked = self._delta.links_to(request.topic)
                return request.local is not None or bool(linked)
            case req.AclRequest():
                return is_logical(request.binding) or request.binding in self._bindings.lowered
            case req.AlterClientQuotaRequest():
                scoped = request.entity[0][0] == VIRTUAL_CLUSTER
                return scoped or bool(self._rules.affected_users(request))
            case (
                req.AlterBrokerRequest()
                | req.AlterUserScramCredentialsRequest()
                | req.AlterConfigResourceRequest()
                | req.ConsumerGroupRequest()
            ):
                return False
            case _:
                return True

    def lower_batch(self, requests: Sequence[req.Request]) -> LoweredBatch:
        """Apply one batch of requests, all of the same api."""
        effects = Effects()
        refused = self._unauthorized(requests)
        results = [
            refused.get(request_index) or self._decide(request, request_index, effects)
            for request_index, request in enumerate(requests)
        ]
        self._drop_stale(requests, results)
        self._bindings.finish(effects)
        self._quotas.finish(effects, self._virtual_cluster_of)
        self._rules.recheck_missing()
        self._state = self._next_state()
        return LoweredBatch(
            results=tuple(results),
            state=self._state,
            before=effects.records_before,
            physical=tuple(_labelled(physical, requests) for physical in effects.physical),
            after=tuple(effects.after),
        )

    def _act_as(self, super_users: Collection[str], principal: str | None) -> None:
        self._alterations = Alterations(self._namespaces, self._topics.topic_id, super_users)
        self._super_users = super_users
        self._principal = principal

    def _drop_stale(
        self, requests: Sequence[req.Request], results: Sequence[RequestResult]
    ) -> None:
        """Clean up after an interrupted apply with the first request about virtual clusters."""
        for request_index, (request, result) in enumerate(zip(requests, results, strict=True)):
            if result.ok and self.involves_virtual_clusters(request):
                self._bindings.drop_stale(request_index)
                self._quotas.drop_stale(request_index)
                return

    def _unauthorized(self, requests: Sequence[req.Request]) -> Mapping[int, RequestResult]:
        """Refusals of requests that the principal has no right to by the ACLs before the batch."""
        if self._principal is None:
            return {}
        administrator = Administrator(self._state, self._principal, self._super_users)
        refusals = enumerate(map(administrator.refusal, requests))
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return {i: RequestResult(code=code, message=reason) for i, reason in refusals if reason}

    def _decide(self, request: req.Request, request_index: int, effects: Effects) -> RequestResult:
        try:
            self._apply(request, request_index, effects)
        except VirtualClusterRefusal as refusal:
            return RequestResult(code=refusal.code, message=str(refusal))
        except NotLowerable as refusal:
            return RequestResult(code=ErrorCode.INVALID_REQUEST, message=str(refusal))
        return OK

    def _apply(self, request: req.Request, request_index: int, effects: Effects) -> None:
        match request:
            case req.CreateTopicRequest():
                self._topics.create(request, request_index, effects)
            case req.AlterTopicRequest() | req.DeleteRecordsRequest():
                self._topics.change(request, request_index, effects)
            case req.DeleteTopicRequest():
                self._topics.delete(request, request_index, effects)
            case req.CreateAclRequest():
                self._rules.create_acl(request, request_index, effects)
            case req.DeleteAclRequest():
                self._rules.delete_acl(request, request_index, effects)
            case req.AlterClientQuotaRequest():
                self._rules.alter_quotas(request, request_index, effects)
            case req.CreateVirtualClusterRequest():
                lost = lost_registry(self._state)
                if lost is not None:
                    raise NotLowerable(lost)
                self._alterations.create(request, request_index, effects)
            case req.AlterVirtualClusterRequest():
                self._alterations.alter(request, request_index, effects)
            case req.DeleteVirtualClusterRequest():
                self._alterations.delete(request, request_index, effects)
            case req.GroupRequest():
                self._virtual_cluster(request.virtual_cluster)
                effects.send(request, request_index)
            case (
                req.AlterBrokerRequest()
                | req.AlterUserScramCredentialsRequest()
                | req.AlterConfigResourceRequest()
                | req.ConsumerGroupRequest()
            ):
                effects.send(request, request_index)
            case _:
                assert_never(request)

    def _virtual_cluster(self, name: str) -> VirtualCluster:
        virtual_cluster = self._delta.get(name)
        if virtual_cluster is None:
            raise VirtualClusterRefusal(Symbol.VC_NOT_FOUND, f"there is no virtual cluster {name}")
        return virtual_cluster

    def _virtual_cluster_of(self, user: str) -> VirtualCluster | None:
        name = self._delta.of_user(f"User:{user}")
        return None if name is None else self._delta.get(name)

    def _next_state(self) -> ClusterState:
        for name in self._delta.changed:
            virtual_cluster = self._delta.get(name)
            if virtual_cluster is None:
                self._virtual_clusters.pop(name, None)
            else:
                self._virtual_clusters[name] = virtual_cluster
        lowered = Lowered(
            acls=dict(self._bindings.lowered),
            quotas=dict(self._quotas.lowered),
            pending=dict(self._topics.pending),
            missing_acls=frozenset(self._rules.missing_acls),
            missing_quotas=dict(self._rules.missing_quotas),
            begun_acls=frozenset(self._rules.begun_acls),
            begun_quotas=frozenset(self._rules.begun_quotas),
        )
        return replace(
            self._state,
            topics=dict(self._topics.by_name),
            acls=frozenset(self._rules.acls),
            quotas=self._rules.quotas_after(self._state.quotas),
            virtual_clusters=dict(sorted(self._virtual_clusters.items())),
            lowered=lowered if self._virtual_clusters or lowered != Lowered() else None,
        )


def _labelled(physical: PhysicalRequest, requests: Sequence[req.Request]) -> PhysicalRequest:
    """The request with the labels of a logical request behind it, for the brokers' policies."""
    labels = next(
        filter(None, (requests[request_index].labels for request_index in physical.requested_by)),
        None,
    )
    if labels is None:
        return physical
    return replace(physical, request=req.with_labels(physical.request, labels))


class Alterations:
    """Decides as brokers with virtual clusters would, and collects the effects."""

    def __init__(
        self,
        namespaces: Namespaces,
        topic_id: Callable[[str], str | None],
        super_users: Collection[str],
    ) -> None:
        self._namespaces = namespaces
        self._topic_id = topic_id
        self._super_users = super_users

    def create(
        self, request: req.CreateVirtualClusterRequest, request_index: int, effects: Effects
    ) -> None:
        """Create an empty virtual cluster.

        Raises:
            VirtualClusterRefusal: it can't be created.
        """
        for record in deciding.create(self._namespaces.delta, request):
            self._namespaces.delta.replay(record)
        self._namespaces.names.add(request.virtual_cluster)
        _append_final(
            effects, virtual_cluster_record(request.virtual_cluster, request.options), request_index
        )

    def delete(
        self, request: req.DeleteVirtualClusterRequest, request_index: int, effects: Effects
    ) -> None:
        """Delete an empty virtual cluster.

        Raises:
            VirtualClusterRefusal: it does not exist, or is not empty.
        """
        name = request.virtual_cluster
        for record in list(deciding.delete(self._namespaces.delta, request)):
            before = self._namespaces.delta.get(name)
            self._namespaces.delta.replay(record)
            if before is not None:
                _append_final(
                    effects, removal(virtual_cluster_record(name, before.options)), request_index
                )
        self._namespaces.names.discard(name)

    def alter(
        self, request: req.AlterVirtualClusterRequest, request_index: int, effects: Effects
    ) -> None:
        """Add, remove or move one entity, redirect a link, or set the options.

        Raises:
            VirtualClusterRefusal: the alteration is not possible.
            NotLowerable: it would make rules contradict each other.
        """
        records = list(
            deciding.alter(
                self._namespaces.delta,
                request,
                self._topic_id,
                super_users=self._super_users,
            )
        )
        for record in records:
            self._check(record)
        for record in records:
            match record:
                case VirtualClusterRecord():
                    self._options(record, request_index, effects)
                case VirtualClusterTopicLinkRecord():
                    self._link(record, request_index, effects)
                case VirtualClusterEntityRecord():
                    moved = request.moved_from is not None
                    self._member(record, request_index, effects, moved=moved)
                case _:
                    raise ValueError(f"an alteration makes no {type(record).__name__}")

    def _check(self, record: VirtualClusterMetadataRecord) -> None:
        """Refuse a record that makes rules contradict each other; called before any effect."""
        match record:
            case VirtualClusterRecord():
                before = self._namespaces.delta.get(record.name)
                if before is not None and before.options.deny_wins:
                    after = replace(before, options=record.options)
                    self._namespaces.refuse_conflicts(after, all_of=True)
            case VirtualClusterTopicLinkRecord(topic=str(topic)):
                virtual_cluster = self._namespaces.delta.get(record.virtual_cluster)
                if virtual_cluster is not None:
                    link = TopicLink(name=record.link_name, topic=topic)
                    after = replace(
                        virtual_cluster, links={**virtual_cluster.links, link.name: link}
                    )
                    self._namespaces.refuse_conflicts(after)
            case VirtualClusterEntityRecord(entity_type=EntityType.USER, remove=False):
                virtual_cluster = self._namespaces.delta.get(record.virtual_cluster)
                if virtual_cluster is not None:
                    after = replace(
                        virtual_cluster, users=virtual_cluster.users | {record.entity_name}
                    )
                    self._namespaces.refuse_conflicts(after)
            case _:
                pass

    def _options(self, record: VirtualClusterRecord, request_index: int, effects: Effects) -> None:
        before = self._namespaces.delta.get(record.name)
        if before is None or before.options == record.options:
            return
        self._namespaces.delta.replay(record)
        if before.options.cap_lowering is not record.options.cap_lowering:
            self._namespaces.recompile(record.name, request_index)
        _append_final(effects, virtual_cluster_record(record.name, record.options), request_index)

    def _link(
        self, record: VirtualClusterTopicLinkRecord, request_index: int, effects: Effects
    ) -> None:
        name = record.virtual_cluster
        virtual_cluster = self._namespaces.delta.get(name)
        old = virtual_cluster.links.get(record.link_name) if virtual_cluster else None
        new = None
        if record.topic is not None:
            new = TopicLink(
                name=record.link_name, topic=record.topic, topic_id=record.topic_id or None
            )
            record = replace(record, topic_id=new.topic_id)
        self._namespaces.delta.replay(record)
        local = LocalName(name, record.link_name)
        if new is not None:
            self._namespaces.link(local, new, request_index)
        if old is not None and (new is None or old.topic != new.topic):
            self._namespaces.unlink(local, old, request_index)
        if new is not None:
            if old is None:
                effects.marks.append((request_index, link_record(name, new, RecordStatus.PENDING)))
            _append_final(effects, link_record(name, new), request_index)
        elif old is not None:
            effects.marks.append((request_index, link_record(name, old, RecordStatus.DELETING)))
            _append_final(effects, removal(link_record(name, old)), request_index)

    def _member(
        self,
        record: VirtualClusterEntityRecord,
        request_index: int,
        effects: Effects,
        *,
        moved: bool,
    ) -> None:
        name, entity = record.virtual_cluster, record.entity_name
        local = LocalName(name, entity)
        if record.entity_type is not EntityType.USER:
            self._namespaces.delta.replay(record)
            member = member_record(local, record.entity_type, record.adopts)
            _append_final(effects, removal(member) if record.remove else member, request_index)
            return
        self._namespaces.delta.replay(record)
        if record.remove:
            self._namespaces.unbind(name, entity, request_index)
        else:
            self._namespaces.bind(name, entity, request_index)
        if moved and record.remove:
            return  # the addition that follows replaces the user's record
        mark = RecordStatus.DELETING if record.remove else RecordStatus.PENDING
        if not moved:
            effects.marks.append((request_index, user_record(name, entity, mark)))
        member = user_record(name, entity)
        _append_final(effects, removal(member) if record.remove else member, request_index)


def _append_final(effects: Effects, record: Record, request_index: int) -> None:
    effects.after.append(FinalRecord(record=record, requested_by=(request_index,)))
