"""A fake around a cluster, for fault injection only: it dies at the boundary of a given number."""

from collections.abc import Mapping, Sequence
from typing import Any

from kgitops.cluster.port import Cluster, RegistryLog
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.results import RequestResult


class DiedError(Exception):
    """The process died."""


class DyingCluster:
    """Before and after each append to the registry and each wire batch is a boundary."""

    def __init__(self, real: Cluster, boundary: int) -> None:
        self.real = real
        self.left = boundary

    @property
    def registry(self) -> "DyingRegistry":
        return DyingRegistry(self, self.real.registry)

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        self.pass_boundary()
        results = self.real.execute(
            requests, validate_only=validate_only, principal=principal, until_ms=until_ms
        )
        self.pass_boundary()
        return results

    def pass_boundary(self) -> None:
        if self.left == 0:
            raise DiedError
        self.left -= 1

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever else a cluster has)
        return getattr(self.real, name)


class DyingRegistry:
    """The registry of a dying cluster."""

    def __init__(self, cluster: DyingCluster, real: RegistryLog) -> None:
        self._cluster = cluster
        self._real = real

    def append(self, entries: Sequence[tuple[str, Mapping[str, Json] | None]]) -> int:
        self._cluster.pass_boundary()
        offset = self._real.append(entries)
        self._cluster.pass_boundary()
        return offset
