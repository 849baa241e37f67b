"""Plans subscriptions to the metrics of clients."""

from collections.abc import Iterable, Sequence

from kgitops.model.json.declared import DesiredClientMetrics, Record
from kgitops.model.registry import Json
from kgitops.model.requests import AlterConfigResourceRequest, Request
from kgitops.model.resources.addresses import client_metrics_address
from kgitops.model.resources.config_resources import ConfigResourceType, normal_resource_configs
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Kind
from kgitops.plan.document.risks import Risk
from kgitops.plan.engine import NO_VALUES, Requested, Values, ValuesPlanner
from kgitops.plan.normal_form import in_order

_TYPE = ConfigResourceType.CLIENT_METRICS


class ClientMetricsPlanner(ValuesPlanner[DesiredClientMetrics]):
    """The subscriptions; one ends with its last key."""

    kind, addresses, field = Kind.CLIENT_METRICS, ("client-metrics",), "configs"
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
        return normal_resource_configs(_TYPE, state.configs) if state else NO_VALUES

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the subscription with its configs."""
        return {"kind": "ClientMetrics", "name": record["name"], "configs": in_order(values)}

    @classmethod
    def risk(cls, before: str | None, after: str | None) -> Risk:
        """Return whether the config is set or goes."""
        del before
        return risks.CLIENT_METRICS_REMOVE if after is None else risks.CLIENT_METRICS_SET

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the request that sets and removes all."""
        name, configs = record["name"], dict(requested)
        return [
            AlterConfigResourceRequest(resource_type=_TYPE, resource_name=name, configs=configs)
        ]
