"""The kinds of objects and the forms of their addresses, from which most lists of kinds follow.

An address never changes: registries hold it.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Self

from msgspec import Struct

from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    JUDGED_RESOURCES,
    ConfigResourceType,
)
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.wording import counted, enumerated

_PART = r"(?:[^%/@,=\x00-\x1f\x7f-\x9f]|%[0-9A-F]{2})+"
_ACL = (
    rf"{_PART}/(?:{'|'.join(PermissionType)})/(?:{'|'.join(Operation)})"
    rf"/(?:{'|'.join(ResourceType)})/(?:{'|'.join(PatternType)})/{_PART}@{_PART}"
)
_CLIENTS = rf"user={_PART}(?:,client-id={_PART})?|client-id={_PART}"
_WORD = re.compile("[A-Z][a-z]+")


class Kind(StrEnum):
    """The kinds of object that a plan can have, in the order in which reports show them.

    ``module`` has the document and the hooks of the kind, below ``kgitops.kinds``; None for a kind
    that no document declares. ``inside`` has a subclass of the hooks, for a kind whose objects may
    be in a virtual cluster as well.
    """

    VIRTUAL_CLUSTER = "VirtualCluster", "virtual_clusters.virtual_cluster"
    TOPIC = "Topic", "topics.topic", "virtual_clusters.local_topic"
    LINK = "TopicLink", "virtual_clusters.link"
    GROUP = "ConsumerGroup", "consumer_group", "virtual_clusters.local_group"
    CLIENT_METRICS = "ClientMetrics", "client_metrics"
    BINDING = "VirtualClusterBinding", "virtual_clusters.binding"
    ACL = "Acl", "acls.acl", "virtual_clusters.local_acl"
    QUOTA = "ClientQuota", "quota"
    USER = "User", "user"
    BROKER_CONFIG = "BrokerConfig", "broker_config"
    BROKER = "Broker"

    module: str | None
    inside: str | None

    def __new__(cls, name: str, module: str | None = None, inside: str | None = None) -> Self:
        """Return the kind of this name."""
        kind = str.__new__(cls, name)
        kind._value_, kind.module, kind.inside = name, module, inside
        return kind

    @property
    def words(self) -> str:
        """``consumer group``."""
        return " ".join(_WORD.findall(self)).lower()

    @property
    def plural(self) -> str:
        """``consumer groups``."""
        return counted(2, self.words).removeprefix("2 ")


class AddressForm(Struct, frozen=True):
    """Addresses ``SEGMENT/NAME``, or ``vc/VIRTUAL CLUSTER/SEGMENT/NAME`` if they are ``scoped``.

    ``noun`` is what people call the object, ``name`` the pattern of its encoded name. The kind and
    a name are enough to tell one object where addresses are ``by_name``. A ``resource`` has configs
    in Kafka by its type and name; one ``of_brokers`` exists as long as the broker of that name.
    Resources, and other objects that are ``asked`` for, are read by their names.
    """

    kind: Kind
    segment: str
    noun: str
    scoped: bool = False
    by_name: bool = True
    name: str = _PART
    resource: ConfigResourceType | None = None
    of_brokers: bool = False
    asked: bool = False

    @property
    def sort(self) -> str:
        """The segment, but for two that mean something else in a virtual cluster."""
        return self.segment if self.scoped else UNSCOPED.get(self.segment, self.segment)

    @property
    def plural(self) -> str:
        """``quotas``, ``client metrics``."""
        return counted(2, self.noun).removeprefix("2 ")

    @property
    def example(self) -> str:
        """``topic/NAME``, ``acl/…``."""
        return f"{self.segment}/{'NAME' if self.by_name else '…'}"

    @property
    def declarable(self) -> bool:
        """True for what a document declares outside of virtual clusters."""
        return not self.scoped and self.kind not in (Kind.BROKER, Kind.VIRTUAL_CLUSTER)


CREDENTIALS = "credentials"
"""The sort of the addresses ``user/NAME``; a ``user`` is a member of a virtual cluster."""
GLOBAL_GROUP = "consumer-group"
"""The sort of a group outside of virtual clusters; one inside is a ``group``."""
UNSCOPED: Mapping[str, str] = {"user": CREDENTIALS, "group": GLOBAL_GROUP}
FORMS = (
    AddressForm(Kind.VIRTUAL_CLUSTER, "vc", "virtual cluster"),
    AddressForm(Kind.TOPIC, "topic", "topic"),
    AddressForm(Kind.TOPIC, "topic", "topic", scoped=True),
    AddressForm(Kind.LINK, "link", "link", scoped=True),
    AddressForm(Kind.GROUP, "group", "group", resource=ConfigResourceType.GROUP),
    AddressForm(Kind.GROUP, "group", "group", scoped=True),
    AddressForm(
        Kind.CLIENT_METRICS,
        "client-metrics",
        "client metrics",
        resource=ConfigResourceType.CLIENT_METRICS,
    ),
    AddressForm(Kind.BINDING, "user", "user", scoped=True, by_name=False),
    AddressForm(Kind.BINDING, "client", "client id", scoped=True, by_name=False),
    AddressForm(Kind.BINDING, "txn", "transactional id", scoped=True, by_name=False),
    AddressForm(Kind.ACL, "acl", "acl", by_name=False, name=_ACL),
    AddressForm(Kind.ACL, "acl", "acl", by_name=False, name=_ACL, scoped=True),
    AddressForm(
        Kind.QUOTA,
        "quota",
        "quota",
        by_name=False,
        name=rf"{_CLIENTS}|ip={_PART}|{VIRTUAL_CLUSTER}={_PART}",
    ),
    AddressForm(Kind.QUOTA, "quota", "quota", by_name=False, name=_CLIENTS, scoped=True),
    AddressForm(Kind.USER, "user", "user", asked=True),
    AddressForm(
        Kind.BROKER_CONFIG,
        "broker-config",
        "broker config",
        name=rf"{ALL_BROKERS}|0|[1-9][0-9]{{0,9}}",
        resource=ConfigResourceType.BROKER,
        of_brokers=True,
    ),
    AddressForm(Kind.BROKER, "broker", "broker", by_name=False, name=r"[0-9]{1,10}"),
)
KIND_OF_SORT: Mapping[str, Kind] = {form.sort: form.kind for form in FORMS}
"""By the sort of an address (``model.resources.addresses.kind_of``)."""
RESOURCES: Mapping[ConfigResourceType, AddressForm] = {
    form.resource: form for form in FORMS if form.resource is not None
}
"""The addresses of config resources, by their type."""
READ_BY_NAME: Mapping[str, AddressForm] = {
    form.segment: form
    for form in sorted(FORMS, key=lambda form: form.resource is not None)
    if form.asked or form.resource is not None
}
"""The objects that are read by kind and name, by segment, in the order of reading."""
RESOURCES_IN_WORDS = enumerated((form.plural for form in RESOURCES.values()), "and")
JUDGED_RESOURCES_IN_WORDS = enumerated(RESOURCES[it].plural for it in JUDGED_RESOURCES)
FORM_OF_NAMED: Mapping[Kind, AddressForm] = {
    form.kind: form for form in FORMS if form.by_name and not form.scoped
}
NAMED_KINDS = tuple(dict.fromkeys(form.kind for form in FORMS if form.by_name))
"""The kinds of which the kind and a name are enough to tell one object."""
_NOT_IN_VC = [it for it in FORMS if not it.scoped and it.kind is not Kind.VIRTUAL_CLUSTER]
ADDRESSES_IN_WORDS = enumerated((*(it.example for it in _NOT_IN_VC), "vc/…"))
"""``topic/NAME, acl/…, broker/… or vc/…``."""
DECLARABLE_IN_WORDS = enumerated((*(it.example for it in _NOT_IN_VC if it.declarable), "vc/…"))
"""The addresses of what documents declare."""
RESOURCE_OF: Mapping[Kind, ConfigResourceType] = {form.kind: it for it, form in RESOURCES.items()}


def _pattern(forms: Iterable[AddressForm]) -> str:
    return "|".join(rf"{form.segment}/(?:{form.name})" for form in forms)


@cache
def _declarable() -> re.Pattern[str]:
    return re.compile(
        f"{_pattern(form for form in FORMS if form.declarable)}"
        f"|vc/{_PART}(?:/(?:{_pattern(form for form in FORMS if form.scoped)}))?"
    )


def is_declarable(address: str) -> bool:
    """True for the address of an object that a document can declare."""
    return _declarable().fullmatch(address) is not None
