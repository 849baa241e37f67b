"""What Spark's own event log says that it moved."""

import json
from dataclasses import dataclass
from pathlib import Path


def event_log(folder: Path) -> dict[str, str]:
    """The settings that make Spark write it there, in one file."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@dataclass(slots=True)
class Moved:
    """Bytes over all tasks; ``answered`` is what they sent to the driver."""

    tasks: int = 0
    failed: int = 0
    shuffled: int = 0
    spilled: int = 0
    answered: int = 0


def moved(folder: Path) -> Moved:
    """The sums of the one application whose log is in ``folder``.

    Raises:
        SystemExit: there is no log, or no task in it, so that nothing is known.
    """
    sums = Moved()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                _add(sums, event)
    if not sums.tasks:
        raise SystemExit(f"Spark's event log in {folder} tells of no task")
    return sums


def _add(sums: Moved, event: dict[str, dict[str, object]]) -> None:
    metrics = event.get("Task Metrics")
    sums.tasks += 1
    sums.failed += bool(event["Task Info"]["Failed"])
    if metrics is None:
        return
    read, written = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    sums.shuffled += read["Remote Bytes Read"] + read["Local Bytes Read"]
    sums.shuffled += written["Shuffle Bytes Written"]
    sums.spilled += metrics["Memory Bytes Spilled"] + metrics["Disk Bytes Spilled"]
    sums.answered += metrics["Result Size"]
