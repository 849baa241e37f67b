"""``kind: Project``: the model of the project file."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Discriminator, Field, Tag

from kgitops.manifests.kinds.fields import (
    ConfigScalar,
    ErrorText,
    FreeText,
    IntRange,
    NotNull,
    Text,
    manifest,
)
from kgitops.manifests.kinds.topic_profile import TopicDefaults
from kgitops.manifests.project.reconcile import ProjectReconcileDocument, ReconcileDocument

Level = Literal["info", "advisory", "soft", "hard", "off"]


@manifest
class ProjectMetadata:
    """The name and identity of the project."""

    name: Text
    """The project's name, its label."""
    uid: Annotated[Text | None, NotNull()] = None
    """The project's identity, written by init; if left out, the name is the identity."""
    formerly: list[Text] = field(default_factory=list)
    """Names and uids that this project had before: a plan takes over all of their objects."""
    take_from: list[Text] = field(default_factory=list)
    """Projects from which a plan takes over the objects that this project declares."""
    labels: Annotated[dict[str, str], FreeText()] = field(default_factory=dict)
    """Free text for people and other tools; declared objects do not inherit it."""


@manifest
class Defaults:
    """The values of objects whose documents don't say otherwise."""

    topic: TopicDefaults = field(default_factory=TopicDefaults)
    """The values that a topic has where neither it nor its profile gives one."""


@manifest
class BrokerSettings:
    """A broker of an embedded cluster."""

    id: Annotated[int, IntRange(0, example=1)]
    """The broker's id."""
    rack: Annotated[str | None, NotNull()] = None
    """The broker's rack."""


_SERVER = r"([^\s/,:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}"
_SERVERS = ErrorText(
    "HOST:PORT, or several with commas", "write for example kafka.example.com:9092"
)


@manifest
class GatewaySettings:
    """The kgitops gateway that clients of the cluster come through."""

    bootstrap_servers: Annotated[
        Annotated[str, Field(pattern=rf"^{_SERVER}(,{_SERVER})*$")], _SERVERS
    ]
    """The addresses that clients connect to, as in kafka.example.com:9092."""


_BROKERS = ErrorText("a number of brokers or a list of {id, rack}", "write for example 3")


@manifest
class ClusterSettings:
    """A cluster that the project can be applied to."""

    url: Text
    """embedded:FILE, kafka://HOST:PORT,HOST:PORT, or sandbox: (kgitops sandbox, this machine)."""
    cluster_id: Annotated[Text | None, NotNull()] = None
    """The cluster's id, which a plan shows; every command refuses another cluster at the url."""
    brokers: Annotated[
        Annotated[int, IntRange(1, 1000)] | Annotated[list[BrokerSettings], MinLen(1)] | None,
        _BROKERS,
    ] = None
    """The brokers of an embedded cluster: their number, or a list of id and rack."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """The client's configs by librdkafka's names, secrets as ${env:NAME}; for an embedded cluster
    the configs of its brokers."""
    variables: dict[str, ConfigScalar] = field(default_factory=dict)
    """The values of ${var:NAME} in manifests."""
    policy_levels: dict[str, Level] = field(default_factory=dict)
    """Policy name to its level on this cluster."""
    defaults: Defaults = field(default_factory=Defaults)
    """Defaults on this cluster; they win over those of the project, key by key."""
    reconcile: ReconcileDocument = field(default_factory=ReconcileDocument)
    """Settings of kgitops reconcile on this cluster; they win over the project's, key by key."""
    gateway: Annotated[GatewaySettings | None, NotNull()] = None
    """The gateway that clients come through; plans then report what is exact for them."""


@manifest
class PythonPolicy:
    """A policy written in Python."""

    class_: Annotated[Text, Field(alias="class")]
    """The policy's module:Class, in the project's folder or an installed package."""
    name: Annotated[Text | None, NotNull()] = None
    """The policy's name in waivers and levels; if left out, the class's name, as in team-prefix."""
    level: Level = "hard"
    """The level: hard and soft stop a run, and soft may be waived. policyLevels of a cluster
    override it."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """The policy's configs."""


def _form_of_policy(value: object) -> str:
    """Pick the form that is meant, so that only its errors are reported."""
    return "in Python" if isinstance(value, dict | PythonPolicy) else "in files"


_PATH = ErrorText("a file or folder of policies, or {class: module:Class}", "write one of these")
PolicyEntry = Annotated[
    Annotated[Text, _PATH, Tag("in files")] | Annotated[PythonPolicy, Tag("in Python")],
    Discriminator(_form_of_policy),
]


_TIME = r"^[0-9]{1,4}(s|m|h)$"
_TIMES = ErrorText("a time in s, m or h", "write for example 10m")


@manifest
class SafetySettings:
    """Limits of one plan: the number of deletions, and the speed of moving replicas."""

    max_deletes: Annotated[int, IntRange(0, example=10)] = 10
    """The largest number of deletions of one kind."""
    max_delete_percent: Annotated[int, IntRange(0, 100, 20)] = 20
    """The largest share of the managed objects of one kind; checked from 5 deletions on."""
    replication_throttle: Annotated[int, IntRange(0, example=52428800)] = 50 * 1024 * 1024
    """Bytes per second that each broker may copy while replicas move; 0 sets no limit."""
    lock_timeout: Annotated[Annotated[str, Field(pattern=_TIME), _TIMES] | None, NotNull()] = None
    """The time to wait for another run that holds the cluster's lock, such as 10m; if left out,
    10m where the environment variable CI is set, else 0s."""


@manifest
class ProjectSpec:
    """The files of the project, and the clusters that it is for."""

    manifests: Annotated[list[Text], MinLen(1), FreeText()] = field(
        default_factory=lambda: ["manifests"]
    )
    """Files and folders of manifests, relative to the project's folder."""
    policies: Annotated[list[PolicyEntry], FreeText()] = field(default_factory=list)
    """Files and folders of policies, waivers and tests of policies; and policies in Python."""
    default_cluster: Annotated[Text | None, NotNull()] = None
    """The cluster that is used if none is named."""
    principal: Annotated[Text | None, NotNull()] = None
    """The principal that policies see as the requester."""
    clusters: dict[str, ClusterSettings] = field(default_factory=dict)
    """The clusters, by their names for -c."""
    safety: SafetySettings = field(default_factory=SafetySettings)
    """Limits of one plan: the number of deletions, and the speed of moving replicas."""
    defaults: Defaults = field(default_factory=Defaults)
    """The values of objects whose documents don't say otherwise."""
    reconcile: Annotated[ProjectReconcileDocument, FreeText()] = field(
        default_factory=ProjectReconcileDocument
    )
    """Settings of kgitops reconcile: the changes that it may apply by itself, and who is told."""
    allow_configs: list[Text] = field(default_factory=list)
    """Patterns of topic configs that kgitops doesn't know and lets through unasked, such as
    confluent.*."""


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
              reconcile: {mode: converge}
          safety: {maxDeletes: 10, maxDeletePercent: 20}
          reconcile: {mode: observe}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Project"]
    """The kind of the document."""
    metadata: ProjectMetadata
    """The name and identity of the project."""
    spec: ProjectSpec
    """The files of the project, and the clusters that it is for."""
