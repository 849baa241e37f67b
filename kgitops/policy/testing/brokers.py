"""The request for a broker's configs."""

from collections.abc import Mapping

from kgitops.policy.api.principal import ANONYMOUS, Principal
from kgitops.policy.api.requests import AlterBrokerRequest
from kgitops.policy.api.states import RequestedBrokerState
from kgitops.policy.state.simulated import overlaid


def alter_broker(
    broker_id: int,
    configs: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterBrokerRequest:
    """Configs of a broker that had ``before``; None as a value removes the key."""
    return AlterBrokerRequest(
        broker_id=broker_id,
        principal=Principal.parse(principal),
        requested_state=RequestedBrokerState(
            configs=overlaid(before or {}, configs), requested_configs=dict(configs)
        ),
    )
