"""Builds subscriptions to clients' metrics from their documents."""

from typing import TYPE_CHECKING

from kgitops.desired.findings import Findings
from kgitops.desired.groups.resource_configs import check_resource_name, read_resource_configs
from kgitops.desired.state import DeletionPolicy, DesiredClientMetrics
from kgitops.manifests.yaml.document import Document
from kgitops.model.resources.addresses import client_metrics_address
from kgitops.model.resources.config_resources import ConfigResourceType

if TYPE_CHECKING:
    from kgitops.manifests.kinds.client_metrics import ClientMetrics


def build_client_metrics(
    declared: "ClientMetrics", document: Document, findings: Findings
) -> DesiredClientMetrics:
    """Build the subscription that a document declares."""
    name, spec = declared.metadata.name, declared.spec
    check_resource_name(name, document, findings)
    kind, policy = ConfigResourceType.CLIENT_METRICS, spec.deletion_policy
    return DesiredClientMetrics(
        address=client_metrics_address(name),
        name=name,
        configs=read_resource_configs(kind, spec.configs, document, findings),
        deletion_policy=DeletionPolicy(policy) if policy else DeletionPolicy.DELETE,
        deletion_policy_written=policy is not None,
        labels=declared.metadata.labels,
        located=document,
    )
