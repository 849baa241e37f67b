"""What a run has at hand: the cluster, its patience, the time, and who listens."""

from collections.abc import Callable
from dataclasses import dataclass

from kgitops.apply.events import Event
from kgitops.apply.settings import ApplySettings, Clock
from kgitops.cluster.port import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """``interrupted`` gives the number of the signal that asked the run to end, or None."""

    cluster: Cluster
    settings: ApplySettings
    clock: Clock
    on_event: Callable[[Event], None]
    interrupted: Callable[[], int | None]
