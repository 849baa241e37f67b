"""Topics of virtual clusters on brokers without them: created under unique physical names."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from kgitops.lowering.effects import Effects, FinalRecord, PhysicalRequest, describe_request
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.records import RecordStatus, link_record
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import (
    MAX_LOCAL_NAME,
    LocalName,
    TopicLink,
    generated_parts,
    generated_topic_name,
)
from kgitops.virtual_clusters.links import check_link_free, refuse_linked
from kgitops.virtual_clusters.records import VirtualClusterTopicLinkRecord
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal


class TopicChanges:
    """The current physical topics, and the physical names of pending ones (VC-063)."""

    def __init__(
        self,
        topics: Mapping[str, TopicState],
        pending: Mapping[LocalName, str],
        namespaces: Namespaces,
        new_uuid: Callable[[], str],
    ) -> None:
        self.by_name = dict(topics)
        self.pending = dict(pending)
        self._namespaces = namespaces
        self._new_uuid = new_uuid

    def topic_id(self, name: str) -> str | None:
        """The topic id; empty for a topic that this batch creates, None if there is no topic."""
        topic = self.by_name.get(name)
        return None if topic is None or topic.marked_for_deletion else topic.topic_id or ""

    def create(self, request: req.CreateTopicRequest, request_index: int, effects: Effects) -> None:
        """Create a topic; one of a virtual cluster with its link.

        Its name is recorded first, so that a retry after a crash creates no second topic.

        Raises:
            VirtualClusterRefusal: the topic can't be created.
        """
        local = request.local
        if local is None:
            effects.send(request, request_index)
            self.by_name[request.topic] = _state(request.requested_state)
            return
        check_link_free(self._namespaces.delta, local)
        _check_name(local)
        topic = self.pending.pop(local, None)
        if topic is None:
            topic = generated_topic_name(self._new_uuid(), local.name)
            link = TopicLink(name=local.name, topic=topic)
            effects.before.append(link_record(local.virtual_cluster, link, RecordStatus.PENDING))
        existing = self.by_name.get(topic)
        if existing is None:
            state = replace(request.requested_state, name=topic)
            physical = replace(request, topic=topic, requested_state=state, local=None)
            effects.send(physical, request_index)
            self.by_name[topic] = _state(state)
        link = TopicLink(
            name=local.name, topic=topic, topic_id=existing.topic_id if existing else None
        )
        self._namespaces.delta.replay(
            VirtualClusterTopicLinkRecord(
                virtual_cluster=local.virtual_cluster,
                link_name=local.name,
                topic=topic,
                topic_id=link.topic_id,
            )
        )
        self._namespaces.link(local, link, request_index)
        effects.after.append(
            FinalRecord(
                record=link_record(local.virtual_cluster, link),
                requested_by=(request_index,),
                topic=request_index if existing is None else None,
            )
        )

    def change(
        self,
        request: req.AlterTopicRequest | req.DeleteRecordsRequest,
        request_index: int,
        effects: Effects,
    ) -> None:
        """Alter a topic or delete records, under the physical name that brokers know."""
        effects.send(replace(request, local=None), request_index)
        if isinstance(request, req.AlterTopicRequest):
            self.by_name[request.topic] = _state(request.requested_state)

    def delete(self, request: req.DeleteTopicRequest, request_index: int, effects: Effects) -> None:
        """Delete a topic, unless links lead to it, which brokers would not check (VC-033).

        Raises:
            VirtualClusterRefusal: links lead to it.
        """
        refuse_linked(self._namespaces.delta, request.topic)
        physical = replace(request, local=None)
        effects.deletions.append(
            PhysicalRequest(
                request=physical, requested_by=(request_index,), line=describe_request(physical)
            )
        )
        self.by_name.pop(request.topic, None)


def _check_name(local: LocalName) -> None:
    problem = topic_name_problem(local.name)
    if problem is None and len(local.name) > MAX_LOCAL_NAME:
        problem = (
            f"the topic name has {len(local.name)} characters, {MAX_LOCAL_NAME} are allowed in a "
            "virtual cluster"
        )
    if problem is not None:
        raise VirtualClusterRefusal(Symbol.INVALID_LINK_NAME, problem)


def _state(requested: RequestedTopicState) -> TopicState:
    return TopicState(
        name=requested.name,
        topic_id=requested.topic_id,
        assignment=requested.assignment,
        configs=requested.configs,
        reassigning=requested.reassigning,
    )


def orphaned_topics(state: ClusterState) -> tuple[str, ...]:
    """Physical topics that were created in a virtual cluster and have no link any more (VC-068).

    Their names show it. kgitops never deletes them by itself.
    """
    linked = {link.topic for vc in state.virtual_clusters.values() for link in vc.links.values()}
    pending = state.lowered.pending.values() if state.lowered else ()
    used = linked.union(pending)
    return tuple(sorted(t for t in state.topics if t not in used and generated_parts(t)))


def lost_registry(state: ClusterState) -> str | None:
    """The reason to create no virtual cluster if the registry was lost (VC-330), or None."""
    topics = orphaned_topics(state) if state.registry is None else ()
    if not topics:
        return None
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    return (
        f"the registry is gone, but {topics[0]}{more} was created in a virtual cluster; restore "
        "__kgitops as docs/reference/virtual-clusters.md says, and delete nothing before that"
    )
