"""``kind: BrokerConfig``: dynamic configs of one broker, or of all of them (KIP-226)."""

from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import NotNull, manifest
from kgitops.manifests.kinds.metadata import Metadata
from kgitops.manifests.kinds.topic_profile import ConfigValue


@manifest
class BrokerConfigSpec:
    """The configs; others of the brokers are left alone."""

    configs: Annotated[dict[str, ConfigValue], MinLen(1), Amounts()]
    """Kafka's own keys, those that brokers take while they run. Passwords, listeners and
    replication throttles are refused."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), which makes brokers fall back to
    their properties files, Protect or Orphan."""


@manifest
class BrokerConfig:
    """Dynamic configs of brokers; metadata.name is a broker's id, or <default> for all brokers.

    Example:
        apiVersion: kgitops/v1
        kind: BrokerConfig
        metadata: {name: <default>}
        spec:
          configs:
            log.retention.ms: 7d
            num.io.threads: 16
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["BrokerConfig"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: BrokerConfigSpec
    """The configs."""
