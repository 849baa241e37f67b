"""The measured figures as Markdown, and what they say about the goals."""

import statistics
from collections.abc import Mapping, Sequence

from fleet_contestants import Result

Measured = Mapping[int, Mapping[str, Sequence[Result]]]
MILLION = 1_000_000
_MISSING = "-"


def time_table(measured: Measured) -> str:
    """Seconds of whole processes, and of the work once Spark and its workers are there."""
    lines = [
        "| topics | DuckDB full s | by cluster s | prefilter s | diff on Spark s | x DuckDB full "
        "| plan's work s | x DuckDB full | fleet plan s | Spark's start s "
        "| same tasks without Spark s | one process s | kgitops plan s |",
        "| ---: |" + " ---: |" * 12,
    ]
    for size, results in measured.items():
        cells = (
            _median(results, "duckdb", "seconds"),
            _median(results, "duckdb-clusters", "seconds"),
            _median(results, "duckdb-prefilter", "seconds"),
            _median(results, "diff", "seconds"),
            _times_duckdb(results, "diff"),
            _median(results, "fleet", "seconds"),
            _times_duckdb(results, "fleet"),
            _median(results, "fleet", "wall"),
            _median(results, "session", "wall"),
            _median(results, "units", "wall"),
            _median(results, "whole", "wall"),
            _median(results, "plan", "wall"),
        )
        lines.append(f"| {size:,} | {' | '.join(_decimals(cell) for cell in cells)} |")
    return "\n".join(lines)


def memory_table(measured: Measured) -> str:
    """Peaks of resident memory in MB, and what Spark moved."""
    lines = [
        "| topics | DuckDB full MB | fleet plan MB | driver's Python MB | its JVM MB | workers MB "
        "| largest worker MB | one process MB | shuffled bytes | spilled bytes "
        "| to the driver KB |",
        "| ---: |" + " ---: |" * 10,
    ]
    for size, results in measured.items():
        fleet = results.get("fleet", ())
        bytes_ = [found.moved for found in fleet if found.moved is not None]
        cells = [
            _peak(results, "duckdb", "total"),
            *(_peak(results, "fleet", kind) for kind in KINDS),
            _peak(results, "whole", "total"),
            f"{max(one.shuffled for one in bytes_):,}" if bytes_ else _MISSING,
            f"{max(one.spilled for one in bytes_):,}" if bytes_ else _MISSING,
            f"{max(one.answered for one in bytes_) / 1e3:,.0f}" if bytes_ else _MISSING,
        ]
        lines.append(f"| {size:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


KINDS = ("total", "root", "java", "workers", "worker")


def _times_duckdb(results: Mapping[str, Sequence[Result]], name: str) -> float | None:
    """Of the work alone: a contestant on Spark begins to count when its workers are there."""
    done, full = _median(results, name, "seconds"), _median(results, "duckdb", "seconds")
    return done / full if done is not None and full else None


def crossover(measured: Measured) -> str:
    """Where a fleet's plan begins to be quicker than one process."""
    sentences = []
    for name, what in (("whole", "one process"), ("units", "the same tasks without Spark")):
        slower, quicker = [], []
        for size, results in measured.items():
            fleet, alone = _median(results, "fleet", "wall"), _median(results, name, "wall")
            if fleet is not None and alone is not None:
                (quicker if fleet < alone else slower).append(size)
        if slower or quicker:
            sentences.append(
                f"Beside {what}: a fleet's plan is slower at {_sizes(slower)}, "
                f"quicker at {_sizes(quicker)} topics."
            )
    return "\n".join(sentences)


def goals(measured: Measured) -> str:
    """Which of the goals hold, as far as they were measured."""
    lines = []
    for size, most in ((MILLION, 4.0), (10 * MILLION, 1.5)):
        for name, what in (("diff", "the diff"), ("fleet", "the whole plan")):
            times = _times_duckdb(measured.get(size, {}), name)
            if times is not None:
                lines.append(_goal(f"{what} of {size:,} topics, x DuckDB full", times, most))
    small, large = (measured.get(size, {}) for size in (MILLION, 10 * MILLION))
    for name, what in (("diff", "the diff"), ("fleet", "the whole plan")):
        before, after = _median(small, name, "seconds"), _median(large, name, "seconds")
        if before and after:
            lines.append(_goal(f"{what} of 10 million, x 1 million", after / before, 11.0))
    if small.get("fleet") and large.get("fleet"):
        for kind in ("root", "java"):
            peaks = [
                max(found.peaks[kind] for found in results["fleet"]) for results in (small, large)
            ]
            lines.append(_goal(f"driver's memory ({kind}), x 1 million", peaks[1] / peaks[0], 1.2))
    runs = [found.moved for results in measured.values() for found in results.get("fleet", ())]
    if shuffled := [run.shuffled for run in runs if run is not None]:
        lines.append(_goal(f"shuffled bytes of {len(shuffled)} runs", sum(shuffled), 0))
    return "\n".join(lines) or "No goal was measured: they are about 1 and 10 million topics."


def _goal(what: str, figure: float, most: float) -> str:
    return f"{'met' if figure <= most else 'MISSED'}: {what}: {figure:.2f}, at most {most:g}"


def _median(results: Mapping[str, Sequence[Result]], name: str, figure: str) -> float | None:
    found = results.get(name)
    return statistics.median(getattr(one, figure) for one in found) if found else None


def _peak(results: Mapping[str, Sequence[Result]], name: str, kind: str) -> str:
    found = results.get(name)
    return f"{max(one.peaks.get(kind, 0.0) for one in found):,.0f}" if found else _MISSING


def _decimals(figure: float | None) -> str:
    return _MISSING if figure is None else f"{figure:.2f}"


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes) or "none of the measured numbers of"
