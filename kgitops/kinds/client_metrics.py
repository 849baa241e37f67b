"""``kind: ClientMetrics``: subscriptions to the metrics of clients (KIP-714)."""

from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.kinds.configs import ConfigsKind
from kgitops.manifests.kinds.fields import Amounts, NotNull, manifest
from kgitops.manifests.kinds.parts import Metadata
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.model.json.declared import DesiredClientMetrics
from kgitops.plan.document import risks
from kgitops.plan.phases import Phase


@manifest
class ClientMetricsSpec:
    """A subscription, which exists as long as it has configs."""

    configs: Annotated[dict[str, ConfigValue], MinLen(1), Amounts()]
    """Kafka's own keys: metrics (prefixes of names, or *), interval.ms, and match (KEY=REGEX of
    client_id, client_instance_id, client_software_name and others)."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""


@manifest
class ClientMetrics:
    """A subscription to the metrics of clients; its name is metadata.name.

    Example:
        apiVersion: kgitops/v1
        kind: ClientMetrics
        metadata: {name: consumer-lag}
        spec:
          configs:
            metrics: [org.apache.kafka.consumer.fetch.manager.]
            interval.ms: 60000
            match: ["client_software_name=apache-kafka-java"]
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ClientMetrics"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: ClientMetricsSpec
    """The subscription."""


class ClientMetricsKind(ConfigsKind[DesiredClientMetrics]):
    """The subscriptions; one ends with its last key."""

    declares, changed = DesiredClientMetrics, risks.CLIENT_METRICS_SET
    adopted, removed = risks.CLIENT_METRICS_ADOPT, risks.CLIENT_METRICS_REMOVE
    forgotten = risks.CLIENT_METRICS_FORGET
    noun = "config of client metrics"
    files, phases = "client-metrics", (Phase.QUOTA, Phase.QUOTA_REMOVE)
