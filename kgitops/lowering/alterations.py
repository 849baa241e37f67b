"""Virtual clusters and their members on brokers that know none: records, and what follows."""

from collections.abc import Callable, Collection
from dataclasses import replace

from kgitops.lowering.effects import Effects, FinalRecord
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.records import (
    Record,
    Status,
    gone,
    link_record,
    member_record,
    user_record,
    virtual_cluster_record,
)
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
)
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, TopicLink
from kgitops.virtual_clusters import deciding
from kgitops.virtual_clusters.records import (
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)


class Alterations:
    """Decides as brokers that know virtual clusters do, and does what they would."""

    def __init__(
        self,
        namespaces: Namespaces,
        topic_id: Callable[[str], str | None],
        super_users: Collection[str],
    ) -> None:
        self._namespaces = namespaces
        self._topic_id = topic_id
        self._super_users = super_users

    def create(self, request: CreateVirtualClusterRequest, asker: int, effects: Effects) -> None:
        """Make an empty one.

        Raises:
            VirtualClusterRefusal: it can't be made.
        """
        for record in deciding.create(self._namespaces.delta, request):
            self._namespaces.delta.replay(record)
        self._namespaces.names.add(request.virtual_cluster)
        _finally(effects, virtual_cluster_record(request.virtual_cluster, request.options), asker)

    def delete(self, request: DeleteVirtualClusterRequest, asker: int, effects: Effects) -> None:
        """Delete an empty one.

        Raises:
            VirtualClusterRefusal: it is not there, or not empty.
        """
        name = request.virtual_cluster
        for record in list(deciding.delete(self._namespaces.delta, request)):
            before = self._namespaces.delta.get(name)
            self._namespaces.delta.replay(record)
            if before is not None:
                _finally(effects, gone(virtual_cluster_record(name, before.options)), asker)
        self._namespaces.names.discard(name)

    def alter(self, request: AlterVirtualClusterRequest, asker: int, effects: Effects) -> None:
        """Add, remove or move one entity, let a link lead elsewhere, or set the options.

        Raises:
            VirtualClusterRefusal: it can't be done.
            NotLowerable: it would contradict a rule.
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
                    self._options(record, asker, effects)
                case VirtualClusterTopicLinkRecord():
                    self._link(record, asker, effects)
                case VirtualClusterEntityRecord():
                    moved = request.moved_from is not None
                    self._member(record, asker, effects, moved=moved)
                case _:
                    raise ValueError(f"an alteration makes no {type(record).__name__}")

    def _check(self, record: VirtualClusterMetadataRecord) -> None:
        """Refuse what would contradict rules, before anything of the request is done."""
        match record:
            case VirtualClusterRecord():
                before = self._namespaces.delta.get(record.name)
                if before is not None and before.options.deny_wins:
                    after = replace(before, options=record.options)
                    self._namespaces.refuse_conflicts(after, all_of=True)
            case VirtualClusterTopicLinkRecord(topic=str(topic)):
                found = self._namespaces.delta.get(record.virtual_cluster)
                if found is not None:
                    link = TopicLink(name=record.link_name, topic=topic)
                    after = replace(found, links={**found.links, link.name: link})
                    self._namespaces.refuse_conflicts(after)
            case VirtualClusterEntityRecord(entity_type=EntityType.USER, remove=False):
                found = self._namespaces.delta.get(record.virtual_cluster)
                if found is not None:
                    after = replace(found, users=found.users | {record.entity_name})
                    self._namespaces.refuse_conflicts(after)
            case _:
                pass

    def _options(self, record: VirtualClusterRecord, asker: int, effects: Effects) -> None:
        before = self._namespaces.delta.get(record.name)
        if before is None or before.options == record.options:
            return
        self._namespaces.delta.replay(record)
        if before.options.cap_lowering is not record.options.cap_lowering:
            self._namespaces.recompile(record.name, asker)
        _finally(effects, virtual_cluster_record(record.name, record.options), asker)

    def _link(self, record: VirtualClusterTopicLinkRecord, asker: int, effects: Effects) -> None:
        name = record.virtual_cluster
        found = self._namespaces.delta.get(name)
        old = found.links.get(record.link_name) if found else None
        new = None
        if record.topic is not None:
            new = TopicLink(
                name=record.link_name, topic=record.topic, topic_id=record.topic_id or None
            )
            record = replace(record, topic_id=new.topic_id)
        self._namespaces.delta.replay(record)
        local = LocalName(name, record.link_name)
        if new is not None:
            self._namespaces.link(local, new, asker)
        if old is not None and (new is None or old.topic != new.topic):
            self._namespaces.unlink(local, old, asker)
        if new is not None:
            if old is None:
                effects.marks.append((asker, link_record(name, new, Status.PENDING)))
            _finally(effects, link_record(name, new), asker)
        elif old is not None:
            effects.marks.append((asker, link_record(name, old, Status.DELETING)))
            _finally(effects, gone(link_record(name, old)), asker)

    def _member(
        self, record: VirtualClusterEntityRecord, asker: int, effects: Effects, *, moved: bool
    ) -> None:
        name, entity = record.virtual_cluster, record.entity_name
        local = LocalName(name, entity)
        if record.entity_type is not EntityType.USER:
            self._namespaces.delta.replay(record)
            kept = member_record(local, record.entity_type, record.adopts)
            _finally(effects, gone(kept) if record.remove else kept, asker)
            return
        self._namespaces.delta.replay(record)
        if record.remove:
            self._namespaces.unbind(name, entity, asker)
        else:
            self._namespaces.bind(name, entity, asker)
        if moved and record.remove:
            return  # the addition that follows says where the user is from now on
        mark = Status.DELETING if record.remove else Status.PENDING
        if not moved:
            effects.marks.append((asker, user_record(name, entity, mark)))
        kept = user_record(name, entity)
        _finally(effects, gone(kept) if record.remove else kept, asker)


def _finally(effects: Effects, record: Record, asker: int) -> None:
    effects.after.append(FinalRecord(record=record, askers=(asker,)))
