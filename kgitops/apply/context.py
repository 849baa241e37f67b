"""What a run has at hand: the cluster, its settings, the time, and who listens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kgitops.apply.events import Event
from kgitops.apply.settings import ApplySettings
from kgitops.cluster.port import Cluster
from kgitops.model.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """``interrupted`` gives the number of the signal that asked the run to end, or None.

    ``cancels`` asks the user, once interrupted, whether to cancel the moves of these topics'
    replicas (by address) that go on meanwhile: without a clear yes they go on.
    """

    cluster: Cluster
    settings: ApplySettings
    clock: Clock = field(default_factory=SystemClock)
    on_event: Callable[[Event], None]
    interrupted: Callable[[], int | None]
    cancels: Callable[[Sequence[str]], bool] = lambda _: False
