"""The planners of kinds that have nothing but configs."""

from collections.abc import Mapping
from typing import Any

from kgitops.model.resources.kinds import Kind
from kgitops.plan.engine import ConfigsPlanner
from kgitops.plan.values.broker_configs import BrokerConfigPlanner
from kgitops.plan.values.client_metrics import ClientMetricsPlanner

CONFIGS_PLANNERS: Mapping[Kind, type[ConfigsPlanner[Any]]] = {
    planner.declares.kind: planner for planner in (ClientMetricsPlanner, BrokerConfigPlanner)
}
