"""Options of forwarding."""

from enum import StrEnum

from msgspec import Struct, field

from kgitops.serve.forwarding.envelope import DefaultPrincipalSerde, PrincipalSerde


class Routing(StrEnum):
    """The way of requests that the controller decides, at a broker.

    ``direct``: the broker has them decided itself, as before KIP-590. ``strict``: only old
    versions are forwarded, and for newer ones clients find the controller (seed KIP alone).
    """

    FORWARD = "forward"
    STRICT = "strict"
    DIRECT = "direct"


class Consistency(StrEnum):
    """The nodes that have a change when its request is answered: all, or one (A4-100, A4-101)."""

    CONTROLLER = "controller"
    CLUSTER = "cluster"


class ForwardingOptions(Struct, frozen=True, kw_only=True):
    """Options of brokers and controllers of a served cluster; none is kept in the store."""

    routing: Routing = Routing.FORWARD
    controllers: int = 1
    consistency: Consistency = Consistency.CONTROLLER
    lag_ms: int = 0
    """Time after which brokers see what the controller has decided."""
    broker_rights: bool = True
    """Brokers have ClusterAction on the cluster; without it they can't forward."""
    internal_topics: bool = False
    """FindCoordinator has the topic of its coordinators created when it is asked first."""
    timeout_ms: int = 30_000
    """The time to find a controller, for requests that do not name one."""
    principal_serde: PrincipalSerde | None = field(default_factory=DefaultPrincipalSerde)
    """None: this cluster's principals can't be written as bytes, so nothing can be forwarded."""
