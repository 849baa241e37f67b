"""The state of a gateway and of its processes, as values."""

from msgspec import Struct, field

from kgitops.gateway.connections.counts import ConnectionCounts


class ProcessStatus(Struct, frozen=True, kw_only=True):
    """One process; ``age_s`` is that of its names, ``too_old`` says that they are beyond a limit.

    ``problem`` is why the registry could not be read last.
    """

    counts: ConnectionCounts = field(default_factory=ConnectionCounts)
    table_version: int = 0
    table_offset: int = -1
    age_s: float = 0.0
    too_old: str | None = None
    problem: str | None = None


class GatewayStatus(Struct, frozen=True, kw_only=True):
    """All processes of a gateway, those that have told of themselves lately."""

    processes: tuple[ProcessStatus, ...]
    wanted: int = 1
    """The number that there has to be."""
    restarts: int = 0
    """The number of processes that were started again."""
    ended: ConnectionCounts = field(default_factory=ConnectionCounts)
    """The counts of processes that are gone."""

    @property
    def counts(self) -> ConnectionCounts:
        """The counts of all processes, and of those before them: no counter ever falls."""
        total = ConnectionCounts()
        total.add(self.ended)
        for process in self.processes:
            total.add(process.counts)
        return total

    @property
    def age_s(self) -> float:
        """The age of the oldest names."""
        return max((process.age_s for process in self.processes), default=0.0)

    def problems(self) -> tuple[str, ...]:
        """Sentences about what keeps the gateway from taking connections."""
        found = []
        missing = self.wanted - len(self.processes)
        if missing:
            found.append(f"{missing} of {self.wanted} workers are not there")
        found += [process.too_old for process in self.processes if process.too_old]
        return tuple(dict.fromkeys(found))
