"""Plans subscriptions to the metrics of clients."""

from collections.abc import Sequence

from kgitops.model.json.declared import DesiredClientMetrics
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Kind
from kgitops.plan.engine import ConfigsPlanner


class ClientMetricsPlanner(ConfigsPlanner[DesiredClientMetrics]):
    """The subscriptions; one ends with its last key."""

    kind, addresses = Kind.CLIENT_METRICS, ("client-metrics",)
    resource, changed = ConfigResourceType.CLIENT_METRICS, risks.CLIENT_METRICS_SET
    adopted, removed = risks.CLIENT_METRICS_ADOPT, risks.CLIENT_METRICS_REMOVE
    forgotten = risks.CLIENT_METRICS_FORGET

    def declared(self) -> Sequence[DesiredClientMetrics]:
        """Return the declared subscriptions."""
        return self.context.desired.of(DesiredClientMetrics)
