"""The state of the loop as gauges, made anew for each scrape."""

import platform
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily

from kgitops.model import clock as moments
from kgitops.reconcile.loop_status import LoopStatus, UnitStatus
from kgitops.reconcile.metrics import catalogue
from kgitops.reconcile.metrics.catalogue import Metric

Sample = tuple[tuple[str, ...], float]
"""The values of the labels beyond the unit's, and the value."""


def gauges(status: LoopStatus, now: float) -> Iterator[GaugeMetricFamily]:
    """All gauges; ``now`` is of the monotonic clock."""
    build = (status.version, platform.python_version())
    yield _family(catalogue.BUILD, [(build, 1)])
    yield _family(catalogue.INTERVAL, [((), status.interval)])
    yield _family(catalogue.HEARTBEAT, [((), max(0.0, now - status.heartbeat))])
    samples = [(unit, _samples(unit)) for unit in status.units]
    for metric in catalogue.METRICS:
        found = [
            ((unit.project, unit.cluster, *labels), value)
            for unit, by_metric in samples
            for labels, value in by_metric.get(metric.name, ())
        ]
        if found:
            yield _family(metric, found)


def _samples(unit: UnitStatus) -> Mapping[str, list[Sample]]:
    """The samples of a unit by the name of their metric."""
    found: dict[Metric, list[Sample]] = {
        catalogue.RUNNING: [((), float(unit.running))],
        catalogue.MODE: [((unit.mode,), 1)],
        catalogue.SUSPENDED: [((), float(unit.suspended))],
        catalogue.SOURCE_FAILURES: [((), unit.source_failures)],
        catalogue.LAST_SUCCESS: _moment(unit.last_success),
    }
    if unit.pending is not None:
        found[catalogue.PENDING_CHANGES] = [
            ((action, level), count)
            for action, levels in sorted(unit.pending.changes.items())
            for level, count in sorted(levels.items())
        ]
        found[catalogue.PENDING_SINCE] = _moment(unit.pending.since)
    if unit.revision is not None:
        found[catalogue.REVISION] = [((unit.revision.name,), 1)]
    if unit.turns:
        last = unit.turns[0]
        found[catalogue.LAST_TURN] = _moment(last.ended)
        found[catalogue.LAST_DURATION] = [((), last.seconds)]
        found[catalogue.LAST_EXIT] = [((), float(last.exit))]
    if (seen := unit.seen) is not None:
        found[catalogue.DRIFTED] = _counts(seen.drifting)
        found[catalogue.VIOLATIONS] = _counts(seen.violations)
        found[catalogue.FIGHTS] = [((), len(seen.fights))]
        found[catalogue.DISABLED] = [((), seen.disabled)]
        if seen.registry_records is not None:
            found[catalogue.REGISTRY_RECORDS] = [((), seen.registry_records)]
    return {metric.name: samples for metric, samples in found.items()}


def _counts(counts: Mapping[str, int]) -> list[Sample]:
    return [((label,), count) for label, count in sorted(counts.items())]


def _moment(text: str | None) -> list[Sample]:
    """A moment in seconds since 1970; nothing where there is none."""
    if text is None:
        return []
    try:
        return [((), moments.from_text(text).timestamp())]
    except ValueError:
        return []  # all other metrics are worth more than an error


def _family(metric: Metric, samples: Iterable[Sample]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
