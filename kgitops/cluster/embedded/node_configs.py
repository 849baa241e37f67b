"""A broker's own configs: what it was started with, and what was altered since."""

from collections.abc import Mapping

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.options import Options
from kgitops.model.cluster_state import Broker


def static_configs(options: Options, broker: Broker) -> dict[str, str]:
    """The broker's properties file."""
    rack = {} if broker.rack is None else {"broker.rack": broker.rack}
    return {"node.id": str(broker.id), **rack, **options.static_configs_of(broker.id)}


def node_configs(draft: Draft, node: int | None = None) -> Mapping[str, str]:
    """What is in force on a broker now, its own above the default of all; None: the controller."""
    brokers = {broker.id: broker for broker in draft.delta.brokers.all()}
    number = controller_id(draft.image) if node is None else node
    if number not in brokers:  # nobody is alive to be the controller
        return dict(draft.options.static_configs)
    dynamic = draft.delta.configs
    return {
        **static_configs(draft.options, brokers[number]),
        **dynamic.of_broker(""),
        **dynamic.of_broker(str(number)),
    }
