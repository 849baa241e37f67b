"""Plans subscriptions to the metrics of clients."""

from collections.abc import Iterable, Sequence

from kgitops.model.json.declared import DesiredClientMetrics, Record
from kgitops.model.resources.addresses import client_metrics_address
from kgitops.model.resources.config_resources import ConfigResourceType, normal_resource_configs
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Kind
from kgitops.plan.engine import NO_VALUES, ConfigsPlanner, Values


class ClientMetricsPlanner(ConfigsPlanner[DesiredClientMetrics]):
    """The subscriptions; one ends with its last key."""

    kind, addresses = Kind.CLIENT_METRICS, ("client-metrics",)
    resource, changed = ConfigResourceType.CLIENT_METRICS, risks.CLIENT_METRICS_SET
    adopted, removed = risks.CLIENT_METRICS_ADOPT, risks.CLIENT_METRICS_REMOVE
    forgotten = risks.CLIENT_METRICS_FORGET

    def declared(self) -> Sequence[DesiredClientMetrics]:
        """Return the declared subscriptions."""
        return self.context.desired.client_metrics

    def existing(self) -> Iterable[str]:
        """Return the addresses of all subscriptions."""
        return map(client_metrics_address, self.current.client_metrics)

    def held(self, record: Record) -> Values:
        """Return the configs of the subscription."""
        state = self.current.client_metrics.get(record["name"])
        return normal_resource_configs(self.resource, state.configs) if state else NO_VALUES
