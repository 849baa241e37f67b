"""Kafka as a pure function: a request takes one ClusterState to the next, or it is illegal.

It knows nothing of plans but how one is executed: each request once what it expects holds, and the
owner's record after an object's last request.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from builders import some_configs, with_configs
from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.effects import check_preconditions
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, TopicUsage, address_of
from kgitops.model.registry import Owner, RegistryState
from kgitops.model.resources.acls import IMPLIED, AclBinding, Operation, PatternType, PermissionType
from kgitops.model.resources.addresses import group_address
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    generated_topic_name,
    physical_id,
)
from kgitops.model.values import overlaid
from kgitops.plan.document.plan import Change, Plan
from kgitops.virtual_clusters.deciding import alter, create, delete
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.links import refuse_linked
from kgitops.virtual_clusters.records import VirtualClusterMetadataRecord


class Model(Struct, frozen=True):
    """A cluster and how many topic ids it has given away."""

    state: ClusterState
    minted: int = 0

    def execute(self, request: req.Request) -> "Model":
        """The cluster after ``request``; an illegal one is the plan's fault."""
        match request:
            case req.CreateTopicRequest():
                return self._create(request)
            case req.AlterTopicRequest():
                return self._alter(request)
            case req.DeleteTopicRequest():
                topic = self._topic(request.topic, request.topic_id)
                refuse_linked(self._delta(), topic.name)
                return self._with_topics({**self.state.topics, topic.name: None})
            case req.DeleteRecordsRequest():
                return self._delete_records(request)
            case req.CreateAclRequest(binding=binding):
                assert binding not in self.state.acls
                return self._after(request)
            case req.DeleteAclRequest(binding=binding):
                assert binding in self.state.acls
                return self._after(request)
            case req.AlterClientQuotaRequest():
                return self._after(request)
            case req.AlterUserScramCredentialsRequest():
                held = (self.state.users or {}).get(request.user, {})
                assert not request.removes or request.mechanism in held
                return self._after(request)
            case req.AlterBrokerRequest():
                assert any(broker.id == request.broker for broker in self.state.brokers)
                return self._after(request)
            case req.CreateVirtualClusterRequest():
                return self._decide(lambda delta: create(delta, request))
            case req.AlterVirtualClusterRequest():
                return self._decide(lambda delta: alter(delta, request, self._topic_id))
            case req.DeleteVirtualClusterRequest():
                return self._decide(lambda delta: delete(delta, request))
            case req.AlterConfigResourceRequest():
                return self._alter_resource(request)
            case req.AlterConsumerGroupOffsetsRequest():
                raise AssertionError("nobody asks for a reset")
            case req.DeleteConsumerGroupRequest():
                found = self._group(request.group)
                assert found.known
                return self._with_group(replace(found, known=False, offsets={}))
            case req.CopyGroupOffsetsRequest():
                group = physical_id(request.virtual_cluster, request.group)
                offsets = self.state.group_offsets
                assert not offsets.get(group)
                copied = offsets.get(request.source, {})
                return self._with(group_offsets={**offsets, group: copied})
            case req.DeleteGroupRequest():
                gone = physical_id(request.virtual_cluster, request.group)
                offsets = self.state.group_offsets
                return self._with(
                    group_offsets={group: offsets[group] for group in offsets if group != gone}
                )
            case _:
                assert_never(request)

    def execute_all(self, requests: Iterable[req.Request]) -> "Model":
        """The cluster after all of them."""
        model = self
        for request in requests:
            model = model.execute(request)
        return model

    def apply(self, plan: Plan) -> "Model":
        """The cluster after a plan that nothing stops, every expectation met on the way."""
        assert not plan.verdict.stops
        model = self
        for change in plan.changes:
            assert check_preconditions(change.preconditions, self.state) == ()
        done: set[str] = set()
        left = list(plan.requests)
        while left:
            # In the plan's order but for what waits for something later.
            planned = next(item for item in left if done.issuperset(item.depends_on))
            assert check_preconditions((planned.expects,), model.state) == ()
            model = model.execute(planned.request)
            done.add(planned.id)
            left.remove(planned)
        for change in plan.changes:
            model = model._remember(change, plan)
        return model

    def _create(self, request: req.CreateTopicRequest) -> "Model":
        wanted = request.requested_state
        if request.local:
            return self._create_local(request, request.local)
        assert request.topic not in self.state.topics
        assert wanted.topic_id is None
        assert wanted.configs == wanted.requested_configs
        self._check_assignment(wanted)
        made = TopicState(
            name=wanted.name,
            topic_id=f"topic-id-{self.minted}",
            assignment=wanted.assignment,
            configs=dict(wanted.configs),
        )
        usage = {**self.state.usage, made.name: empty_usage(made.num_partitions)}
        model = self._with_topics({**self.state.topics, made.name: made})
        return replace(model, state=replace(model.state, usage=usage), minted=self.minted + 1)

    def _create_local(self, request: req.CreateTopicRequest, local: LocalName) -> "Model":
        """A topic of a virtual cluster, and its link, in one step (VC-056)."""
        found = self.state.virtual_clusters[local.virtual_cluster]
        assert local.name not in found.links
        assert request.topic == generated_topic_name(req.NEW_UUID, local.name)
        assert request.requested_state.name == request.topic
        name = generated_topic_name(f"{self.minted:08x}-0000-4000-8000-000000000000", local.name)
        made = self._create(
            req.CreateTopicRequest(
                topic=name, requested_state=replace(request.requested_state, name=name)
            )
        )
        return made.execute(
            req.AlterVirtualClusterRequest(
                virtual_cluster=local.virtual_cluster,
                entity_type=EntityType.TOPIC,
                entity_name=local.name,
                topic=name,
            )
        )

    def _delta(self) -> VirtualClustersDelta:
        return VirtualClustersDelta(build_image(self.state.virtual_clusters.values()))

    def _decide(
        self, decide: Callable[[VirtualClustersDelta], Iterable[VirtualClusterMetadataRecord]]
    ) -> "Model":
        """Brokers' own rules; what they refuse is the plan's fault."""
        delta = self._delta()
        for record in list(decide(delta)):
            delta.replay(record)
        return self._with(virtual_clusters=delta.apply().by_name)

    def _topic_id(self, name: str) -> str | None:
        topic = self.state.topics.get(name)
        return topic.topic_id if topic else None

    def _alter(self, request: req.AlterTopicRequest) -> "Model":
        now = self._topic(request.topic, request.topic_id)
        wanted = request.requested_state
        assert wanted.topic_id == now.topic_id
        match request.step:
            case req.AlterStep.CONFIGS:
                assert wanted.requested_configs
                assert wanted.assignment == now.assignment
                assert overlaid(now.configs, wanted.requested_configs) == wanted.configs
                after = replace(now, configs=wanted.configs)
            case req.AlterStep.PARTITIONS:
                old = now.num_partitions
                assert wanted.num_partitions > old
                assert wanted.assignment[:old] == now.assignment
                added = {len(replicas) for replicas in wanted.assignment[old:]}
                assert added == {now.replication_factor}  # A4-72
                assert wanted.configs == now.configs
                after = replace(now, assignment=wanted.assignment)
            case req.AlterStep.REPLICAS:
                assert wanted.num_partitions == now.num_partitions
                # What moves already is only waited for.
                assert (wanted.assignment == now.assignment) == now.reassigning
                assert wanted.configs == now.configs
                after = replace(now, assignment=wanted.assignment, reassigning=False)
            case _:
                assert_never(request.step)
        self._check_assignment(after)
        model = self._with_topics({**self.state.topics, now.name: after})
        grown = _grown(self.state.usage.get(now.name), after.num_partitions)
        return replace(
            model, state=replace(model.state, usage={**self.state.usage, now.name: grown})
        )

    def _check_assignment(self, topic: TopicState) -> None:
        known = {broker.id for broker in self.state.brokers}
        for replicas in topic.assignment:
            assert replicas
            assert known.issuperset(replicas)
            assert len(set(replicas)) == len(replicas)

    def _delete_records(self, request: req.DeleteRecordsRequest) -> "Model":
        topic = self._topic(request.topic, request.topic_id)
        assert "delete" in topic.configs.get("cleanup.policy", "delete")  # A4-81
        usage = self.state.usage[topic.name]
        starts = list(usage.log_start_offsets)
        for partition, offset in request.deleted_message_offsets.items():
            end = usage.high_watermarks[partition]
            start = starts[partition]
            assert start is not None
            assert end is not None
            assert offset <= end
            starts[partition] = max(start, offset)
        cut = replace(usage, log_start_offsets=tuple(starts))
        return self._with(usage={**self.state.usage, topic.name: cut})

    def _alter_resource(self, request: req.AlterConfigResourceRequest) -> "Model":
        name = request.resource_name
        if request.resource_type is ConfigResourceType.GROUP:
            group = self._group(name)
            return self._with_group(
                replace(group, configs=overlaid(group.configs, request.configs))
            )
        address = req.request_address(request)
        found = self.state.objects.get(address)
        held = found.configs if isinstance(found, FoundConfigs) else {}
        configs = overlaid(held, request.configs)
        rest = [it for it in self.state.of(FoundConfigs) if address_of(it) != address]
        made = [some_configs(request.resource_type, name, configs)] if configs else []
        return Model(state=with_configs(self.state, *rest, *made))

    def _group(self, name: str) -> FoundGroup:
        found = self.state.objects.get(group_address(name))
        return found if isinstance(found, FoundGroup) else FoundGroup(name=name)

    def _with_group(self, group: FoundGroup) -> "Model":
        """The cluster with the group, if there is anything of that name."""
        address = address_of(group)
        others = {key: it for key, it in self.state.objects.items() if key != address}
        return self._with(objects=others | ({address: group} if group.exists else {}))

    def _after(self, request: req.Request) -> "Model":
        return replace(self, state=self.state.after([request]))

    def _remember(self, change: Change, plan: Plan) -> "Model":
        """Write the registry's record of an object that is done."""
        registry = self.state.registry or RegistryState(topic_id="registry", offset=-1)
        owners = {key: value for key, value in registry.owners.items() if key != change.address}
        owner = change.owner_after
        if owner is not None:
            owners[change.address] = self._with_id(owner)
        projects = {**registry.projects, plan.desired.identity: plan.desired.project}
        return self._with(
            registry=replace(registry, owners=owners, projects=projects, offset=registry.offset + 1)
        )

    def _with_id(self, owner: Owner) -> Owner:
        """The topic id of a topic that was just made."""
        if owner.last_applied["kind"] != "Topic" or owner.topic_id is not None:
            return owner
        name = owner.last_applied["name"]
        at = owner.last_applied.get("virtualCluster")
        if at is not None:
            name = self.state.virtual_clusters[at].links[name].topic
        return replace(owner, topic_id=self.state.topics[name].topic_id)

    def _topic(self, name: str, topic_id: str) -> TopicState:
        topic = self.state.topics[name]
        assert topic.topic_id == topic_id
        return topic

    def _with_topics(self, topics: Mapping[str, TopicState | None]) -> "Model":
        there = {name: topic for name, topic in topics.items() if topic is not None}
        usage = {name: used for name, used in self.state.usage.items() if name in there}
        return self._with(topics=there, usage=usage)

    def _with(self, **values: object) -> "Model":
        return replace(self, state=replace(self.state, **values))  # type: ignore[arg-type]


def empty_usage(partitions: int) -> TopicUsage:
    """That of a topic nobody has written to."""
    return TopicUsage(log_start_offsets=(0,) * partitions, high_watermarks=(0,) * partitions)


def _grown(usage: TopicUsage | None, partitions: int) -> TopicUsage:
    usage = usage or empty_usage(0)
    added = (0,) * (partitions - len(usage.log_start_offsets))
    return replace(
        usage,
        log_start_offsets=usage.log_start_offsets + added,
        high_watermarks=usage.high_watermarks + added,
    )


def written(state: ClusterState, end: int) -> ClusterState:
    """The cluster after clients wrote to every partition, up to the offset ``end``."""
    return replace(
        state,
        usage={
            name: replace(usage, high_watermarks=(end,) * len(usage.high_watermarks))
            for name, usage in state.usage.items()
        },
    )


def may(
    acls: Iterable[AclBinding], principal: str, host: str, operation: Operation, topic: str
) -> bool:
    """Whether Kafka's authorizer lets the principal do this to a topic, looked at rule by rule."""
    matching = [
        acl
        for acl in acls
        if acl.resource_type == "topic"
        and acl.principal in (principal, "User:*")
        and acl.host in (host, "*")
        and _matches(acl, topic)
    ]
    denied = any(
        acl.permission_type is PermissionType.DENY and acl.operation in (operation, Operation.ALL)
        for acl in matching
    )
    return not denied and any(
        acl.permission_type is PermissionType.ALLOW
        and (
            acl.operation in (operation, Operation.ALL)
            or operation in IMPLIED.get(acl.operation, ())
        )
        for acl in matching
    )


def _matches(acl: AclBinding, topic: str) -> bool:
    if acl.pattern_type is PatternType.PREFIXED:
        return topic.startswith(acl.resource_name)
    return acl.resource_name in ("*", topic)
