"""Plans subscriptions to the metrics of clients."""

from kgitops.model.json.declared import DesiredClientMetrics
from kgitops.plan.document import risks
from kgitops.plan.engine import ConfigsPlanner


class ClientMetricsPlanner(ConfigsPlanner[DesiredClientMetrics]):
    """The subscriptions; one ends with its last key."""

    declares, changed = DesiredClientMetrics, risks.CLIENT_METRICS_SET
    adopted, removed = risks.CLIENT_METRICS_ADOPT, risks.CLIENT_METRICS_REMOVE
    forgotten = risks.CLIENT_METRICS_FORGET
