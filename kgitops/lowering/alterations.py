"""Changes of virtual clusters and their members on brokers without them: records and effects."""

from collections.abc import Callable, Collection

from msgspec.structs import replace

from kgitops.lowering.effects import Effects, FinalRecord
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.records import (
    RecordStatus,
    link_record,
    member_record,
    removal,
    user_record,
    virtual_cluster_record,
)
from kgitops.model import requests as req
from kgitops.model.json.records import Record
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, TopicLink
from kgitops.virtual_clusters import deciding
from kgitops.virtual_clusters.records import (
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)


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
