"""The declared objects of each kind, and their records.

A record is the JSON of a declared object: the registry keeps it as ``last_applied``, digests cover
it, and fleets have it in their rows. It has the fields of the class in camel case; the annotations
say what is spelled otherwise.
"""

from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from msgspec import Struct, defstruct, field
from msgspec.structs import fields

from kgitops.model.json.codec import WholeNumberText
from kgitops.model.json.spelled import Spelled, codec_of, converted, read_values
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json, Owner
from kgitops.model.resources import addresses
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import FORM_OF_NAMED, FORMS, GLOBAL_GROUP, KIND_OF_SORT, Kind
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions
from kgitops.model.source import Located
from kgitops.model.values import PartlyCompared

S = TypeVar("S", bound=Struct)
_Class = Any
"""A class, to mypy hashable."""

Record = Mapping[str, Json]


class _Target(Struct, rename="camel"):
    virtual_cluster: str
    topic: str


class _Resource(Struct, rename="camel"):
    type: ResourceType
    name: str
    pattern_type: PatternType


class _Origin(Struct, rename="camel"):
    member: str
    copied_from: str


class _Binding(Struct, rename="camel"):
    principal: str
    host: str
    permission: PermissionType
    operation: Operation
    resource: _Resource
    virtual_cluster: str = CLUSTER_NAME
    virtual_cluster_pattern_type: PatternType = PatternType.LITERAL


def _write_binding(binding: AclBinding) -> dict[str, Json]:
    scope = {
        "virtualCluster": binding.virtual_cluster,
        "virtualClusterPatternType": binding.virtual_cluster_pattern_type.value,
    }
    return {
        "principal": binding.principal,
        "host": binding.host,
        "permission": binding.permission_type.value,
        "operation": binding.operation.value,
        "resource": {
            "type": binding.resource_type.value,
            "name": binding.resource_name,
            "patternType": binding.pattern_type.value,
        },
        **(scope if binding.scoped else {}),
    }


def _read_binding(view: _Binding) -> AclBinding:
    return AclBinding(
        resource_type=view.resource.type,
        resource_name=view.resource.name,
        pattern_type=view.resource.pattern_type,
        principal=view.principal,
        host=view.host,
        operation=view.operation,
        permission_type=view.permission,
        virtual_cluster=view.virtual_cluster,
        virtual_cluster_pattern_type=view.virtual_cluster_pattern_type,
    )


def target_json(target: LocalName) -> Json:
    """The link that a link leads to."""
    return {"virtualCluster": target.virtual_cluster, "topic": target.name}


_Long = Annotated[int, Spelled(WholeNumberText, str, int)]
_Acl = Annotated[AclBinding, Spelled(_Binding, _write_binding, _read_binding, merged=True)]
_LinkTarget = Annotated[
    LocalName, Spelled(_Target, target_json, lambda it: LocalName(it.virtual_cluster, it.topic))
]


class DeletionPolicy(StrEnum):
    """The effect of removing an object's document (contract §1, Removal)."""

    PROTECT = "Protect"
    DELETE = "Delete"
    ORPHAN = "Orphan"


class ConfigsPolicy(StrEnum):
    """The treatment of undeclared config keys: left alone or removed (contract §1, Fields)."""

    DECLARED = "Declared"
    EXACT = "Exact"


class _Located(PartlyCompared, frozen=True, kw_only=True):
    """A document's address, labels and place; two are equal wherever they are written."""

    not_compared: ClassVar = "located"
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    located: Located


class AnyDesired(_Located, frozen=True, kw_only=True):
    """Base of the declared objects: ``deletion_policy_written`` if the document says it.

    ``sorts`` are those of its addresses, where they are not all that its kind has. A record has the
    fields in ``scoped`` only where the first of them is not None.
    """

    kind: ClassVar[Kind]
    sorts: ClassVar[tuple[str, ...]] = ()
    scoped: ClassVar[tuple[str, ...]] = ()
    deletion_policy_written: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE

    @property
    def named_at(self) -> tuple[str, ...]:
        """The place in its document that names the object."""
        return ("metadata", "name")

    @property
    def of_virtual_cluster(self) -> str | None:
        """The virtual cluster that the object is, or belongs to."""
        scope: str | None = getattr(self, "virtual_cluster", None)
        return scope

    @property
    def local(self) -> LocalName | None:
        """The name that it takes within a virtual cluster."""
        return None

    @property
    def has_default_policy(self) -> bool:
        """True if a document without a deletion policy means the object's."""
        return self.deletion_policy is default_policy(type(self))


class NamedDesired(AnyDesired, frozen=True, kw_only=True):
    """Base of the declared objects whose address follows from their ``name``."""

    name: str

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        return addresses.named_address(FORM_OF_NAMED[self.kind], self.name)


class DesiredTopic(NamedDesired, frozen=True, kw_only=True):
    """A declared topic. Either ``assignment`` is given, or partitions and replication factor.

    ``name`` is the local one of a topic that is declared in a ``virtual_cluster``; ``share_with``
    names the virtual clusters that may link to it (VC-040).
    """

    kind = Kind.TOPIC
    scoped = ("virtual_cluster", "share_with")
    partitions: int
    replication_factor: int
    assignment: Assignment | None = field(default=None, name="assignments")
    configs: Mapping[str, str] = field(default_factory=dict)
    configs_policy: ConfigsPolicy = ConfigsPolicy.DECLARED
    delete_records_before: Mapping[int, int] = field(default_factory=dict)
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT
    virtual_cluster: str | None = None
    share_with: tuple[str, ...] = ()

    @property
    def local(self) -> LocalName | None:
        """Its name within its virtual cluster."""
        return None if self.virtual_cluster is None else LocalName(self.virtual_cluster, self.name)

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        local = self.local
        return super().own_address if local is None else addresses.local_topic_address(local)


class DesiredAcl(AnyDesired, frozen=True, kw_only=True):
    """One declared binding; a document with several principals or operations declares several."""

    kind = Kind.ACL
    binding: _Acl

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        return addresses.acl_address(self.binding)

    @property
    def named_at(self) -> tuple[str, ...]:
        """The place in its document that names the object."""
        return ("spec", "resource")

    @property
    def of_virtual_cluster(self) -> str | None:
        """The one virtual cluster that it names."""
        literal = self.binding.virtual_cluster_pattern_type is PatternType.LITERAL
        return self.binding.virtual_cluster if self.binding.scoped and literal else None


class DesiredQuota(AnyDesired, frozen=True, kw_only=True):
    """The declared quotas of one entity, by Kafka's key."""

    kind = Kind.QUOTA
    entity: ClientQuotaEntity
    quotas: Mapping[str, float]

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        return addresses.quota_address(self.entity)

    @property
    def named_at(self) -> tuple[str, ...]:
        """The place in its document that names the object."""
        return ("spec", "entity")

    @property
    def of_virtual_cluster(self) -> str | None:
        """The virtual cluster that its entity names."""
        return dict(self.entity).get(VIRTUAL_CLUSTER)


class OffsetReset(Struct, frozen=True, kw_only=True):
    """The place to which a group is set once; another ``version`` asks for it again.

    Exactly one of ``position`` (``earliest`` or ``latest``), ``timestamp_ms`` and ``offsets`` is
    given; ``topics`` are those of which all partitions are set.
    """

    version: str
    position: str | None = None
    timestamp_ms: _Long | None = field(default=None, name="timestamp")
    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    topics: tuple[str, ...] = ()


class DesiredConfigs(NamedDesired, frozen=True, kw_only=True):
    """The declared configs of a ``resource``, which Kafka has by its type and name."""

    resource: ClassVar[ConfigResourceType]
    configs: Mapping[str, str] = field(default_factory=dict)


class DesiredGroup(DesiredConfigs, frozen=True, kw_only=True):
    """A declared consumer group outside of virtual clusters."""

    kind, resource = Kind.GROUP, ConfigResourceType.GROUP
    sorts = (GLOBAL_GROUP,)
    reset: OffsetReset | None = field(default=None, name="resetOffsets")
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT


class DesiredClientMetrics(DesiredConfigs, frozen=True, kw_only=True):
    """A declared subscription to the metrics of clients."""

    kind, resource = Kind.CLIENT_METRICS, ConfigResourceType.CLIENT_METRICS


class DesiredBrokerConfig(DesiredConfigs, frozen=True, kw_only=True):
    """The declared configs of a broker, by its id, or of all (``ALL_BROKERS``)."""

    kind, resource = Kind.BROKER_CONFIG, ConfigResourceType.BROKER


class MembersMode(StrEnum):
    """The treatment of undeclared members: reported as drift, or ignored."""

    AUTHORITATIVE = "authoritative"
    ADDITIVE = "additive"


class DesiredVirtualCluster(NamedDesired, frozen=True, kw_only=True):
    """A declared virtual cluster; its members are objects of their own."""

    kind = Kind.VIRTUAL_CLUSTER
    options: LoweringOptions = field(default_factory=LoweringOptions, name="lowering")
    mode: MembersMode = MembersMode.AUTHORITATIVE
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT

    @property
    def of_virtual_cluster(self) -> str:
        """The virtual cluster itself."""
        return self.name


class DesiredLink(AnyDesired, frozen=True, kw_only=True):
    """A declared link: it leads to the physical ``topic``, or to where the link ``target`` does."""

    kind = Kind.LINK
    virtual_cluster: str
    name: str
    topic: str | None = None
    target: _LinkTarget | None = None

    @property
    def local(self) -> LocalName:
        """Its name within its virtual cluster."""
        return LocalName(self.virtual_cluster, self.name)

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        return addresses.member_address(self.virtual_cluster, EntityType.TOPIC, self.name)


_NAMED_AT: Mapping[EntityType, tuple[str, ...]] = {
    EntityType.GROUP: ("metadata", "name"),
    EntityType.USER: ("spec", "user"),
    EntityType.CLIENT_ID: ("spec", "clientId"),
    EntityType.TRANSACTIONAL_ID: ("spec", "transactionalId"),
}


class DesiredMember(AnyDesired, frozen=True, kw_only=True):
    """A declared user, client id, group or transactional id of a virtual cluster.

    The ``name`` of a user is a principal. ``copy_acls_from`` and ``remove_old_acls_from`` name a
    virtual cluster, or ``kafka-cluster`` for none. With ``move`` it may come from another virtual
    cluster. ``adopt`` is the global group that a group takes over, with ``copy_offsets``.
    """

    kind = Kind.BINDING
    sorts = ("user", "client", "group", "txn")
    virtual_cluster: str
    entity_type: EntityType = field(name="type")
    name: str
    copy_acls_from: str | None = None
    remove_old_acls_from: str | None = None
    move: bool = False
    adopt: str | None = None
    copy_offsets: bool = True

    @property
    def own_address(self) -> str:
        """The address that follows from the declaration itself."""
        return addresses.member_address(self.virtual_cluster, self.entity_type, self.name)

    @property
    def named_at(self) -> tuple[str, ...]:
        """The place of its name in a separate document; an item of a list has no such place."""
        return _NAMED_AT[self.entity_type]

    @property
    def has_default_policy(self) -> bool:
        """True if a document without a deletion policy means the object's; for groups two do."""
        if self.entity_type is EntityType.GROUP:
            return self.deletion_policy in (DeletionPolicy.ORPHAN, DeletionPolicy.DELETE)
        return super().has_default_policy


class DesiredCredential(Struct, frozen=True, kw_only=True):
    """One declared mechanism of a user; another ``version`` sets the password again."""

    iterations: int
    password: PasswordSource
    version: str | None = None


class DesiredUser(NamedDesired, frozen=True, kw_only=True):
    """A declared user who logs in by SCRAM; one of a ``virtual_cluster`` must be its member."""

    kind = Kind.USER
    scoped = ("virtual_cluster",)
    credentials: Mapping[ScramMechanism, DesiredCredential] = field(name="scram")
    virtual_cluster: str | None = None
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT


DesiredObject = (
    DesiredTopic
    | DesiredAcl
    | DesiredQuota
    | DesiredUser
    | DesiredGroup
    | DesiredClientMetrics
    | DesiredBrokerConfig
    | DesiredVirtualCluster
    | DesiredLink
    | DesiredMember
)


CONFIGURED: tuple[type[DesiredConfigs], ...] = tuple(
    kind for kind in get_args(DesiredObject) if issubclass(kind, DesiredConfigs)
)
"""The kinds whose objects have configs of a resource."""
ONLY_CONFIGS = tuple(kind for kind in CONFIGURED if kind is not DesiredGroup)
"""The kinds that have nothing but the configs of a resource."""


class Tombstone(_Located, frozen=True, kw_only=True):
    """The reviewed statement that the object at ``address`` is to be deleted."""

    name: str
    reason: str
    topic_id: str | None = None


# The records


@cache
def default_policy(kind: _Class) -> DeletionPolicy:
    """The deletion policy of a declaration that says none."""
    default: DeletionPolicy
    (default,) = (it.default for it in fields(kind) if it.name == "deletion_policy")
    return default


def last_applied(declared: DesiredObject) -> Record:
    """The whole declaration as the registry records it."""
    unscoped = declared.scoped and getattr(declared, declared.scoped[0]) is None
    record = codec_of(type(declared), declared.scoped if unscoped else ()).write(declared)
    if isinstance(declared, DesiredMember) and declared.entity_type is EntityType.GROUP:
        record["kind"] = Kind.GROUP.value
    return record


def declared_object(address: str, record: Record, located: Located) -> DesiredObject:
    """Read the declaration that ``last_applied`` wrote.

    Raises:
        KeyError, ValueError: it is not such a declaration.
    """
    kind = _KINDS[addresses.kind_of(address)][record["kind"]]
    declared: DesiredObject = kind(address=address, located=located, **read_values(kind, record))
    return declared


def check_declaration(address: str, owner: Owner) -> None:
    """Check the shape of ``owner.last_applied``; kinds of a newer kgitops are passed over.

    Raises:
        ShapeError: it is not what kgitops records for an object of this address.
    """
    problem = None
    for name, kind in _KINDS.get(addresses.kind_of(address), {}).items():
        try:
            converted(owner.last_applied, _whole_shape(kind, name))
        except ShapeError as error:
            problem = problem or error
        else:
            return
    if problem:
        raise ShapeError(f"own/{address}.last_applied is no declaration: {problem}")


def credentials_of(view: Json) -> dict[ScramMechanism, DesiredCredential]:
    """Read the credentials in the record of a user.

    Raises:
        ValueError: they are of another shape.
    """
    return {ScramMechanism(key): read_part(DesiredCredential, each) for key, each in view.items()}


def acl_view(binding: AclBinding) -> dict[str, Json]:
    """Show a binding for ``before`` and ``after``, as its record does."""
    return {"kind": DesiredAcl.kind.value, **_write_binding(binding)}


def binding_of(view: Record) -> AclBinding:
    """Read the binding of ``acl_view``, or of a record."""
    return _read_binding(converted(view, _Binding))


def part_json(part: OffsetReset | LoweringOptions) -> dict[str, Json]:
    """A part of a declaration, as records have it."""
    return codec_of(type(part)).write(part)


def read_part(kind: type[S], view: Json) -> S:
    """Read the part of a declaration that ``part_json`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    return kind(**read_values(kind, view))


@cache
def _whole_shape(kind: _Class, name: str) -> type[Struct]:
    """The record of a kind, with what is recorded beside the declaration."""
    more: list[Any] = [("kind", Literal[name]), ("tombstones", list[str], None)]
    if kind is DesiredAcl:
        more.append(("origin", _Origin, None))
    return defstruct(name, more, bases=(codec_of(kind).shape,), kw_only=True)


@cache
def sorts_of(kind: _Class) -> tuple[str, ...]:
    """The sorts (``addresses.kind_of``) of the addresses of a class of declared objects."""
    return kind.sorts or tuple({form.sort: 0 for form in FORMS if form.kind is kind.kind})


def _classes() -> Mapping[str, Mapping[str, _Class]]:
    by_sort: defaultdict[str, dict[str, _Class]] = defaultdict(dict)
    for kind in get_args(DesiredObject):
        for sort in sorts_of(kind):
            by_sort[sort][KIND_OF_SORT[sort].value] = kind
    by_sort["link"][DesiredTopic.kind.value] = DesiredTopic  # forgotten, its link stays
    return dict(by_sort)


_KINDS = _classes()
"""The classes by the sort of their address and the kind of the document that declares them."""
