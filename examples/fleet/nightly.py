"""Every night: save the clusters' states, plan the whole fleet, keep history, raise drift.

    python nightly.py --out nights

All it needs is ``kgitops[fleet]``. It changes no cluster: give it a principal that may only read.
It ends with 0 where nothing is new, with 2 where drift is, and with kgitops' own code where a
cluster was not read or a plan was not made, is denied or refused; what could be done is done.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from drift import add_night, first_rows
from page import Row, Who, drift_page
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kgitops.fleet.spark.error_messages import error_from_spark
from kgitops.fleet.spark.session import session
from kgitops.model.errors import KgitopsError

HERE = Path(__file__).parent
NEW_DRIFT = 2
_SHOWN = 200


class Night:
    """The folders of one night below ``--out``, and the steps that fill them."""

    def __init__(self, told: argparse.Namespace) -> None:
        self.told = told
        self.name = told.night.isoformat()
        self.oldest = (told.night - timedelta(days=told.keep)).isoformat()
        self.runs = told.out / "runs"
        self.states = told.out / "states"
        self.history = told.out / "history"
        self.page = told.out / "drift" / f"{self.name}.md"
        self.spark = [f"--{name}={value}" for name, value in _spark_options(told)]

    def plan(self) -> tuple[int, bool]:
        """Save all states and plan against them: the first code that is not 0, and is there a plan.

        Where one cluster can't be read, or one plan not be made, all others are there.
        """
        project, state, run = self.told.project, self.states / self.name, self.runs / self.name
        for folder in (self.states, self.runs, self.history):
            folder.mkdir(parents=True, exist_ok=True)
        before = _made(run)
        shutil.rmtree(state, ignore_errors=True)  # tonight's plan is never made from older states
        saved = _kgitops("fleet", "snapshot", project, "--out", state, *self.spark)
        if not state.exists():
            return saved, False
        paths = ["--desired", project, "--state", state, "--out", run]
        planned = _kgitops("fleet", "plan", *paths, *self.spark)
        return saved or planned, _made(run) != before

    def look(self) -> list[Row]:
        """Put the night into the history, and give the first rows of each state."""
        history, run = str(self.history.resolve()), str((self.runs / self.name).resolve())
        conf = dict(setting.split("=", 1) for setting in self.told.conf)
        with session(self.told.master, self.told.remote, conf) as started:
            spark = started.engine().spark
            add_night(spark, run, history, self.name, not_before=self.oldest)
            return [row.asDict() for row in first_rows(spark, history, self.name, _SHOWN).collect()]

    def tell(self, rows: Sequence[Row]) -> bool:
        """Write the page of drift and that of the fleet; hand on the former where drift is new."""
        raised = [row for row in rows if row["state"] in ("new", "changed")]
        text = drift_page(self.name, rows, self.authors(raised))
        _write(self.page, text)
        report = _kgitops_says("fleet", "summary", self.runs, "--format", "html")
        if report:
            _write(self.told.out / "report.html", report)
        print(text, end="")
        if raised and self.told.on_drift:
            subprocess.run(shlex.split(self.told.on_drift), input=text, text=True, check=True)
        return bool(raised)

    def authors(self, raised: Sequence[Row]) -> Who:
        """Who did it, where a cluster keeps a record of that. Apache Kafka keeps none."""
        who: dict[tuple[str, str, str], str] = {}
        for cluster in sorted({str(row["cluster"]) for row in raised}):
            said = _kgitops_says(
                "drift", self.told.project, "--cluster", cluster, "--format", "json"
            )
            for row in json.loads(said or "{}").get("drift", []):
                if "by" in row:
                    who[cluster, row["address"], row["path"]] = f"{row['by']} at {row['at']}"
        return who

    def forget(self) -> None:
        """Remove states and runs older than ``--keep`` nights. The history is small and stays."""
        for folder in (*_nights(self.states), *_nights(self.runs)):
            if folder.name < self.oldest:
                shutil.rmtree(folder)


def main() -> int:
    """Run one night."""
    night = Night(_arguments())
    try:
        code, planned = night.plan()
        if not planned:
            return _stop(
                f"there is no plan of {night.name}; the nights before are as they were", code
            )
        is_new = night.tell(night.look())
        night.forget()
    except KgitopsError as error:
        return _stop(str(error), error.exit)
    except (PySparkException, Py4JError) as error:
        failure = error_from_spark(error, f"{night.name} can't be put into {night.history}")
        return _stop(str(failure), failure.exit)
    except subprocess.CalledProcessError as error:
        return _stop(
            f"--on-drift ended with {error.returncode}, so nobody may know of {night.page}"
        )
    return code or (NEW_DRIFT if is_new else 0)


def _stop(why: str, code: int = 0) -> int:
    print(f"nightly: {why}", file=sys.stderr)
    return code or 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Look at the whole fleet, and raise new drift.")
    parser.add_argument("--project", type=Path, default=HERE, help="its folder [this one]")
    parser.add_argument("--out", type=Path, default=Path("nights"), help="[nights]")
    parser.add_argument("--night", type=date.fromisoformat, default=datetime.now(UTC).date())
    parser.add_argument("--keep", type=int, default=90, help="how many nights [90]")
    parser.add_argument("--on-drift", metavar="COMMAND", help="gets the page of new drift on stdin")
    spark = parser.add_mutually_exclusive_group()
    spark.add_argument("--master", help="Spark's [local[*]]")
    spark.add_argument("--remote", help="a server of Spark Connect")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def _spark_options(told: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """As the commands of kgitops take them too."""
    for name, values in (("master", [told.master]), ("remote", [told.remote]), ("conf", told.conf)):
        yield from ((name, value) for value in values if value is not None)


def _kgitops(*words: object) -> int:
    """A command as you would type it, with the kgitops that belongs to this Python."""
    return subprocess.run(_command(words), check=False, stdin=subprocess.DEVNULL).returncode


def _kgitops_says(*words: object) -> str:
    return subprocess.run(_command(words), check=False, stdout=subprocess.PIPE, text=True).stdout


def _command(words: Iterable[object]) -> list[str]:
    return [sys.executable, "-m", "kgitops", *map(str, words)]


def _made(run: Path) -> int:
    """When the run was written: an earlier one of the same night must not be taken for this one."""
    file = run / "fleet.json"
    return file.stat().st_mtime_ns if file.exists() else 0


def _nights(folder: Path) -> list[Path]:
    return [path for path in folder.glob("????-??-??") if path.is_dir()]


def _write(file: Path, text: str) -> None:
    """As a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


if __name__ == "__main__":
    sys.exit(main())
