"""``kind: Project``: the project file as it is written."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Discriminator, Field, Tag

from kgitops.manifests.kinds.fields import (
    ConfigScalar,
    ErrorText,
    IntRange,
    NotNull,
    Text,
    manifest,
)

Level = Literal["info", "advisory", "soft", "hard", "off"]


@manifest
class ProjectMetadata:
    """Whose manifests these are."""

    name: Text
    """The project's name, its label."""
    uid: Annotated[Text | None, NotNull()] = None
    """The project's identity, written by init; without one the name is the identity."""
    formerly: list[Text] = field(default_factory=list)
    """Names and uids that this project had before."""
    take_from: list[Text] = field(default_factory=list)
    """Projects whose objects this project may take over."""
    labels: dict[str, str] = field(default_factory=dict)
    """Free text for people and other tools; what is declared does not inherit it."""


@manifest
class BrokerSettings:
    """A broker of an embedded cluster."""

    id: Annotated[int, IntRange(0, example=1)]
    """The broker's id."""
    rack: Annotated[str | None, NotNull()] = None
    """The broker's rack."""


_BROKERS = ErrorText("a number of brokers or a list of {id, rack}", "write for example 3")


@manifest
class ClusterSettings:
    """A cluster that the project can be applied to."""

    url: Text
    """embedded:FILE, or kafka://HOST:PORT,HOST:PORT."""
    brokers: Annotated[
        Annotated[int, IntRange(1, 1000)] | Annotated[list[BrokerSettings], MinLen(1)] | None,
        _BROKERS,
    ] = None
    """The brokers of an embedded cluster: how many, or a list of id and rack."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """The client's configs by librdkafka's names, secrets as ${env:NAME}; or those of embedded
    brokers."""
    variables: dict[str, ConfigScalar] = field(default_factory=dict)
    """What ${var:NAME} stands for in manifests."""
    policy_levels: dict[str, Level] = field(default_factory=dict)
    """Policy name to the level it has on this cluster."""


@manifest
class PythonPolicy:
    """A policy written in Python."""

    class_: Annotated[Text, Field(alias="class")]
    """Where it is: module:Class, from the project's folder or an installed package."""
    name: Annotated[Text | None, NotNull()] = None
    """What waivers and levels call it; else the class's name, as in team-prefix."""
    level: Level = "hard"
    """How binding it is; a cluster's policyLevels override it."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """What it is configured with."""


def _form_of_policy(value: object) -> str:
    """So that only what is wrong with the form that was meant is said."""
    return "in Python" if isinstance(value, dict | PythonPolicy) else "in files"


_PATH = ErrorText("a file or folder of policies, or {class: module:Class}", "write one of these")
PolicyEntry = Annotated[
    Annotated[Text, _PATH, Tag("in files")] | Annotated[PythonPolicy, Tag("in Python")],
    Discriminator(_form_of_policy),
]


@manifest
class SafetySettings:
    """How many deletions one plan may hold, and how fast it may move replicas."""

    max_deletes: Annotated[int, IntRange(0, example=10)] = 10
    """At most so many deletions of one kind."""
    max_delete_percent: Annotated[int, IntRange(0, 100, 20)] = 20
    """At most this share of the managed objects of one kind; counts from 5 deletions on."""
    replication_throttle: Annotated[int, IntRange(0, example=52428800)] = 50 * 1024 * 1024
    """Bytes per second that each broker may copy while replicas move; 0 sets no limit."""


@manifest
class ProjectSpec:
    """What belongs to the project, and the clusters it is for."""

    manifests: Annotated[list[Text], MinLen(1)] = field(default_factory=lambda: ["manifests"])
    """Files and folders of manifests, from the project's folder."""
    policies: list[PolicyEntry] = field(default_factory=list)
    """Files and folders of policies, waivers and tests of policies; and policies in Python."""
    default_cluster: Annotated[Text | None, NotNull()] = None
    """The cluster that is used where none is named."""
    principal: Annotated[Text | None, NotNull()] = None
    """Who policies see as the requester."""
    clusters: dict[str, ClusterSettings] = field(default_factory=dict)
    """The clusters, by the names that -c takes."""
    safety: SafetySettings = field(default_factory=SafetySettings)
    """How many deletions one plan may hold, and how fast it may move replicas."""
    allow_configs: list[Text] = field(default_factory=list)
    """Patterns of topic configs that Kafka does not know and a vendor does, such as confluent.*."""


@manifest
class Project:
    """The project file, kgitops.yaml.

    Example:
        apiVersion: kgitops/v1
        kind: Project
        metadata: {name: payments, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
        spec:
          manifests: [manifests]
          policies:
            - policies
            - {class: "rules.naming:TeamPrefix", configs: {separator: "."}}
          defaultCluster: local
          principal: User:kgitops
          clusters:
            local: {url: "embedded:.kgitops/local.db", brokers: 3}
            prod:
              url: "kafka://b1.example.com:9093,b2.example.com:9093"
              configs:
                security.protocol: SASL_SSL
                sasl.username: "${env:KAFKA_USER}"
                sasl.password: "${env:KAFKA_PASSWORD}"
              variables: {replicationFactor: 3}
              policyLevels: {team-prefix: soft}
          safety: {maxDeletes: 10, maxDeletePercent: 20}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Project"]
    """What the document declares."""
    metadata: ProjectMetadata
    """Whose manifests these are."""
    spec: ProjectSpec
    """What belongs to the project, and the clusters it is for."""
