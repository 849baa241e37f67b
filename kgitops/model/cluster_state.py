"""A cluster as planning sees it: an immutable snapshot of its state (KIP-201), its capabilities."""

from collections.abc import Iterable, Mapping, Set
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.lowered import Lowered
from kgitops.model.registry import RegistryState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import config_resource_address, user_address
from kgitops.model.resources.config_resources import FoundConfigs
from kgitops.model.resources.groups import CommittedOffsets, FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser, ScramIterations
from kgitops.model.resources.virtual_clusters import LocalName, TopicLink, VirtualCluster
from kgitops.model.values import overlaid

FoundObject = FoundUser | FoundGroup | FoundConfigs
F = TypeVar("F", FoundUser, FoundGroup, FoundConfigs)
GroupOffsets = CommittedOffsets
"""(topic, partition) to the offset that a group has committed."""


class Broker(Struct, frozen=True, kw_only=True):
    """A registered broker; ``rack`` is None where none is configured.

    ``throttles`` holds its own replication throttle by config key, None where it is not known.
    """

    id: int
    rack: str | None = None
    fenced: bool = False
    throttles: Mapping[str, str] | None = field(default_factory=dict)


class TopicUsage(Struct, frozen=True, kw_only=True):
    """The amount of data in a topic and its readers; one item per partition, None where unknown."""

    log_start_offsets: tuple[int | None, ...] = ()
    high_watermarks: tuple[int | None, ...] = ()
    size_bytes: tuple[int | None, ...] = ()
    active_groups: tuple[str, ...] | None = None


class NotChecked(Struct, frozen=True, kw_only=True):
    """A fact that could not be read and that no diff needs, with the reason and what to do."""

    problem: str
    advice: str


class Usage(Struct, frozen=True, kw_only=True):
    """The usage of some topics, and the parts of it that could not be read."""

    topics: Mapping[str, TopicUsage] = field(default_factory=dict)
    not_checked: tuple[NotChecked, ...] = ()


class ClusterState(Struct, frozen=True, kw_only=True):
    """Everything that planning reads of a cluster.

    ``broker_defaults`` gives the value of a topic config where the topic sets none, with its
    source, as DescribeConfigs reports it; values that equal Kafka's own default may be left out.
    ``controller_id`` is -1 where the cluster does not report it (KRaft never tells clients).
    ``usage`` holds only what was asked for with ``read_usage``; a reading does not include it.
    ``has_authorizer`` is False where brokers keep no ACLs: none can be made there (A4-95).
    ``moving`` names the partitions of each topic whose replicas are being reassigned; snapshots
    leave it out, because it holds for the moment only.
    ``virtual_clusters`` are by name, ``acls`` and ``quotas`` hold those of virtual clusters too;
    ``lowered`` is None where brokers know virtual clusters, and where none were ever declared.
    ``group_offsets`` holds only what was asked for with ``read_group_offsets``: physical group id
    to (physical topic, partition) to committed offset.
    ``objects``, by address, are those that were ``asked`` for by their kinds, with ``read``: users,
    groups, and resources with configs. ``offsets_since`` is what ``read_offsets_since`` found, by
    the time in milliseconds.
    ``settings`` are the broker configs that isolation depends on (VC-391), where they are known.
    ``registry`` is None when the cluster has none yet; one that can't be read is an error instead.
    """

    cluster_id: str
    backend: str
    brokers: tuple[Broker, ...] = ()
    controller_id: int = -1
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    acls: Set[AclBinding] = frozenset()
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState] = field(default_factory=dict)
    usage: Mapping[str, TopicUsage] = field(default_factory=dict)
    moving: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    broker_defaults: Mapping[str, str] = field(default_factory=dict)
    has_authorizer: bool = True
    virtual_clusters: Mapping[str, VirtualCluster] = field(default_factory=dict)
    lowered: Lowered | None = None
    group_offsets: Mapping[str, GroupOffsets] = field(default_factory=dict)
    objects: Mapping[str, FoundObject] = field(default_factory=dict)
    asked: frozenset[Kind] = frozenset()
    offsets_since: Mapping[int, CommittedOffsets] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    registry: RegistryState | None = None
    not_checked: tuple[NotChecked, ...] = ()
    captured_at: str = ""

    @property
    def partial_acls(self) -> frozenset[AclBinding]:
        """Bindings of virtual clusters that are missing or may exist only in part (VC-327)."""
        if self.lowered is None:
            return frozenset()
        return self.lowered.missing_acls | self.lowered.begun_acls

    @property
    def partial_quotas(self) -> frozenset[tuple[ClientQuotaEntity, str]]:
        """Quotas of virtual clusters, by entity and key, that are missing or may exist in part."""
        if self.lowered is None:
            return frozenset()
        return self.lowered.begun_quotas.union(self.lowered.missing_quotas)

    @property
    def users(self) -> Mapping[str, ScramIterations] | None:
        """The mechanisms of users by name; None if none were asked for."""
        if Kind.USER not in self.asked:
            return None
        return {user.name: user.held for user in self.of(FoundUser)}

    def of(self, kind: type[F]) -> tuple[F, ...]:
        """The objects of a class."""
        return tuple(item for item in self.objects.values() if isinstance(item, kind))

    def find(self, kind: type[F], address: str) -> F | None:
        """The object of this address; None where there is none of the class."""
        found = self.objects.get(address)
        return found if isinstance(found, kind) else None

    def with_objects(self, found: Iterable[FoundObject], *asked: Kind) -> "ClusterState":
        """The same cluster with these objects, which were asked for by their kinds."""
        objects = {**self.objects, **{address_of(item): item for item in found}}
        return replace(self, objects=objects, asked=self.asked.union(asked))

    def link(self, local: LocalName) -> TopicLink | None:
        """The link of that name; None where there is none."""
        virtual_cluster = self.virtual_clusters.get(local.virtual_cluster)
        return virtual_cluster.links.get(local.name) if virtual_cluster else None

    def with_usage(self, usage: Usage) -> "ClusterState":
        """The same cluster with the usage of these topics."""
        return replace(
            self,
            usage={**self.usage, **usage.topics},
            not_checked=tuple(dict.fromkeys((*self.not_checked, *usage.not_checked))),
        )

    def after(self, requests: Iterable[req.Request]) -> "ClusterState":
        """The same cluster once these requests are done, as far as they change its objects.

        Changes of virtual clusters, records and offsets are left out, and so are those of users
        where users are not known.
        """
        brokers, topics = self.brokers, dict(self.topics)
        acls, quotas, objects = set(self.acls), dict(self.quotas), dict(self.objects)
        for request in requests:
            match request:
                case req.CreateTopicRequest() | req.AlterTopicRequest():
                    topic = request.requested_state.as_current()
                    topics[topic.name] = topic
                case req.DeleteTopicRequest():
                    topics.pop(request.topic, None)
                case req.CreateAclRequest():
                    acls.add(request.binding)
                case req.DeleteAclRequest():
                    acls.discard(request.binding)
                case req.AlterClientQuotaRequest(entity=entity):
                    before = quotas.pop(entity, None)
                    after = overlaid(before.quotas if before else {}, request.quotas)
                    if after:
                        quotas[entity] = ClientQuotaState(entity=entity, quotas=after)
                case req.AlterBrokerRequest():
                    brokers = tuple(_altered(broker, request) for broker in brokers)
                case req.AlterUserScramCredentialsRequest() if Kind.USER in self.asked:
                    address = user_address(request.user)
                    user = objects.pop(address, None)
                    held = altered_user(user.held if isinstance(user, FoundUser) else {}, request)
                    if held:
                        objects[address] = FoundUser(name=request.user, held=held)
                case _:
                    pass
        return replace(
            self,
            brokers=brokers,
            topics=topics,
            acls=frozenset(acls),
            quotas=quotas,
            objects=objects,
        )


def altered_user(
    held: ScramIterations, request: req.AlterUserScramCredentialsRequest
) -> ScramIterations:
    """The mechanisms of a user once one of them is set or removed."""
    others = {key: each for key, each in held.items() if key is not request.mechanism}
    if request.iterations is None:
        return others
    return {**others, request.mechanism: request.iterations}


def address_of(found: FoundObject) -> str:
    """The address of an object that was found."""
    if isinstance(found, FoundUser):
        return user_address(found.name)
    return config_resource_address(found.type, found.name)


def _altered(broker: Broker, request: req.AlterBrokerRequest) -> Broker:
    if broker.id != request.broker:
        return broker
    return replace(broker, throttles=overlaid(broker.throttles or {}, request.configs))


class Validator(StrEnum):
    """The side that can check a planned request before it is sent."""

    BROKER = "broker"
    CLIENT = "client"
    NOT_SUPPORTED = "not-supported"


class VirtualClusterSupport(StrEnum):
    """Support for virtual clusters: by the brokers, by kgitops in their place, or not at all."""

    NATIVE = "native"
    LOWERED = "lowered"
    NONE = "none"


class Client(Struct, frozen=True, kw_only=True):
    """The identity of kgitops on brokers that enforce client quotas.

    ``user`` is the name that it logs in with, without the principal's type; None where it is not
    known, as with a certificate or a token.
    """

    client_id: str
    user: str | None = None


class Capabilities(Struct, frozen=True, kw_only=True):
    """The APIs that a cluster carries out, by their name in a plan, with the checker of each.

    ``virtual_clusters`` is its support for virtual clusters (VC-351). ``client`` is None where
    quotas don't throttle kgitops. ``private``: nobody can read what is sent to the cluster.
    ``host_ranges``: brokers match hosts of ACLs such as ``10.0.0.0/8`` as ranges.
    """

    backend: str
    validation: Mapping[str, Validator]
    virtual_clusters: VirtualClusterSupport = VirtualClusterSupport.NONE
    client: Client | None = None
    private: bool = True
    host_ranges: bool = False

    def supports(self, api: str) -> bool:
        """True if the cluster can carry out requests of this api."""
        return api in self.validation
