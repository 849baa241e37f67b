"""``kind: Project``: the model of the project file."""

from dataclasses import field
from typing import Annotated, Literal, Self

from annotated_types import MinLen
from msgspec import Struct
from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

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

EventName = Literal[
    "synced", "applied", "drifted", "healed", "pending", "fight", "failed", "recovered",
    "source-failed", "source-recovered", "suspended", "resumed",
]  # fmt: skip


@manifest
class SecretFromEnv:
    """A secret, by the name of the environment variable that holds it."""

    env: Text
    """The variable's name; the secret itself is never written down."""


class NotShown:
    """Refuses anything but a mapping without showing it: it may be the secret."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Look at the value before anything else does."""
        return core_schema.no_info_before_validator_function(_mapping, handler(source))


def _mapping(value: object) -> object:
    if isinstance(value, dict | SecretFromEnv):
        return value
    context = {
        "problem": "a secret can't be written here",
        "advice": "write {env: NAME}, and set that environment variable where kgitops runs",
    }
    raise PydanticCustomError("kgitops_secret", "secret", context)


Secret = Annotated[SecretFromEnv, NotShown()]


@manifest
class WebhookDocument:
    """An address that is sent a JSON body for each event."""

    url: Secret
    """The address, https:// or http://, from the environment: who knows it may post there."""
    template: Text = "cloudevents"
    """The body: cloudevents, slack, teams or alertmanager, or a file with a template of your own,
    from the project's folder."""
    headers: dict[str, Secret] = field(default_factory=dict)
    """More HTTP headers, such as Authorization, from the environment."""


@manifest
class GithubStatusDocument:
    """A status on the commit that was planned or applied, for each cluster."""

    repository: Text
    """The repository, OWNER/NAME."""
    token: Secret
    """A token that may write commit statuses."""
    api_url: Text = "https://api.github.com"
    """The address of GitHub's API; of GitHub Enterprise https://HOST/api/v3."""
    context: Text = "kgitops"
    """The beginning of the status's name; the name of the cluster follows."""


@manifest
class NotificationDocument:
    """Somebody who is told of changes of state."""

    name: Text
    """A name for messages and metrics."""
    webhook: Annotated[WebhookDocument | None, NotNull()] = None
    """An address that is sent a JSON body for each event."""
    github_status: Annotated[GithubStatusDocument | None, NotNull()] = None
    """A status on the commit that was planned or applied, for each cluster."""
    events: list[EventName] = field(default_factory=list)
    """The kinds of event to tell; all if left out."""

    @model_validator(mode="after")
    def _one_receiver(self) -> Self:
        """Exactly one receiver."""
        if (self.webhook is None) == (self.github_status is None):
            context = {
                "problem": "a notification has exactly one receiver",
                "advice": "write webhook or githubStatus, and another entry for a second one",
            }
            raise PydanticCustomError("kgitops_receiver", "receiver", context)
        return self


Mode = Literal["observe", "converge", "auto"]
MaxRisk = Literal["safe", "disruptive", "access-loss", "data-loss"]


@manifest
class HealSettings:
    """The undoing of what others changed since it was last applied."""

    enabled: Annotated[bool | None, NotNull()] = None
    """False only reports what others changed; true if left out."""
    times: Annotated[int | None, IntRange(1, 1000, 3), NotNull()] = None
    """The number of times that an object is healed within the window; when somebody changes it
    again after that, it is left alone and reported as a fight. 3 if left out."""
    within_minutes: Annotated[int | None, IntRange(1, 10080, 60), NotNull()] = None
    """The length of the window in minutes; 60 if left out."""


@manifest
class ReconcileDocument:
    """Settings of kgitops reconcile: the changes that it may apply by itself."""

    mode: Annotated[Mode | None, NotNull()] = None
    """observe reports only; converge undoes what others changed and applies what is at most
    maxRisk, but no deletion; auto applies whatever limits, protection and policies let through.
    observe if left out."""
    max_risk: Annotated[MaxRisk | None, NotNull()] = None
    """The worst level of a change that converge applies; safe if left out."""
    suspend: Annotated[bool | None, NotNull()] = None
    """True plans and reports, and applies nothing; false if left out."""
    heal: HealSettings = field(default_factory=HealSettings)
    """The undoing of what others changed since it was last applied."""


@manifest
class ProjectReconcileDocument(ReconcileDocument):
    """Settings of kgitops reconcile: the changes that it may apply by itself, and who is told."""

    notifications: list[NotificationDocument] = field(default_factory=list)
    """Those who are told of changes of state: chats, Alertmanager, commits on GitHub."""


class ReconcileSettings(Struct, frozen=True, kw_only=True):
    """The settings on one cluster, with the project's and the defaults filled in."""

    mode: Mode = "observe"
    max_risk: MaxRisk = "safe"
    suspend: bool = False
    heal: bool = True
    heal_times: int = 3
    heal_within_s: int = 3600


def reconcile_settings(
    project: ReconcileDocument | None, cluster: ReconcileDocument | None
) -> ReconcileSettings:
    """The settings of the project, those of the cluster over them, field by field."""
    found: dict[str, object] = {}
    for written in (project, cluster):
        if written is None:
            continue
        minutes = written.heal.within_minutes
        fields = {
            "mode": written.mode,
            "max_risk": written.max_risk,
            "suspend": written.suspend,
            "heal": written.heal.enabled,
            "heal_times": written.heal.times,
            "heal_within_s": None if minutes is None else minutes * 60,
        }
        found |= {name: value for name, value in fields.items() if value is not None}
    return ReconcileSettings(**found)  # type: ignore[arg-type]  # each of its field's own type


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
