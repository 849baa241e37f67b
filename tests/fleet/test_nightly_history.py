"""The Spark job of examples/fleet: what it makes of a night and the nights before it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from fleet.nightly_nights import Drift, drifted, example_modules, write_run, write_unit

from kgitops.fleet.spark.session import Session

MONDAY, TUESDAY, WEDNESDAY = "2026-11-16", "2026-11-17", "2026-11-18"
Told = dict[tuple[str, str], tuple[str, str | None]]
"""(cluster, address; of the unit itself "") to (state, since)."""


def spark_errors() -> tuple[type[Exception], ...]:
    """Imported where they are needed: Spark is heavy."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


@pytest.fixture
def job() -> Iterator[ModuleType]:
    with example_modules("drift") as (drift,):
        yield drift


class Nights:
    """A history in a folder, and the runs that it is made from."""

    def __init__(self, job: ModuleType, session: Session, folder: Path) -> None:
        self._job, self._session, self._folder = job, session, folder
        self.history = folder / "history"
        self.history.mkdir()
        self._number = 0

    def run(self) -> Path:
        self._number += 1
        return self._folder / f"run-{self._number}"

    def add(self, night: str, run: Path, **options: str) -> Told:
        spark = self._session.engine().spark
        self._job.add_night(spark, str(run), str(self.history), night, **options)
        return {key: (row["state"], row["since"]) for key, row in self.rows(night).items()}

    def told(self, night: str, **units: Sequence[Drift] | str) -> Told:
        return self.add(night, write_run(self.run(), **units))

    def rows(self, night: str, most: int = 100) -> dict[tuple[str, str], dict[str, object]]:
        spark = self._session.engine().spark
        found = self._job.first_rows(spark, str(self.history), night, most).collect()
        rows = {(row["cluster"], row["address"] or ""): row.asDict() for row in found}
        assert len(rows) == len(found)
        return rows

    def files(self) -> dict[str, bytes]:
        parts = self.history.glob("night=*/part-*.parquet")
        return {str(part.relative_to(self.history)): part.read_bytes() for part in parts}


@pytest.fixture
def nights(job: ModuleType, local_spark: Session, tmp_path: Path) -> Nights:
    return Nights(job, local_spark, tmp_path)


def test_drift_is_new_then_open_then_changed_then_mended(nights: Nights) -> None:
    """A value that was never applied is absent on one side, and equal to itself all the same."""
    undeclared = drifted("topic/b", last_applied=None, rule="undeclared")
    told = nights.told(MONDAY, eu=[drifted(), undeclared], us=[])
    assert told == {
        ("eu", ""): ("planned", None),
        ("us", ""): ("planned", None),
        ("eu", "topic/orders"): ("new", MONDAY),
        ("eu", "topic/b"): ("new", MONDAY),
    }
    told = nights.told(TUESDAY, eu=[drifted(found="7"), undeclared], us=[drifted()])
    assert told["eu", "topic/orders"] == ("changed", MONDAY)
    assert told["eu", "topic/b"] == ("open", MONDAY)
    assert told["us", "topic/orders"] == ("new", TUESDAY)
    told = nights.told(WEDNESDAY, eu=[undeclared], us=[drifted(rule="accepted")])
    assert told["eu", "topic/orders"] == ("mended", MONDAY)
    assert told["us", "topic/orders"] == ("mended", TUESDAY), "git says the same now"
    told = nights.told("2026-11-19", eu=[drifted(), undeclared], us=[])
    assert told["eu", "topic/orders"] == ("new", "2026-11-19"), "mended is over"
    assert ("us", "topic/orders") not in told


def test_a_night_on_which_nobody_could_look_mends_nothing(nights: Nights) -> None:
    """Failed on one night, not even there on the next: compared with the last that is known."""
    nights.told(MONDAY, eu=[drifted(), drifted("topic/b")], us=[])
    told = nights.told(TUESDAY, eu="the store is damaged", us=[])
    assert told == {("eu", ""): ("unknown", MONDAY), ("us", ""): ("planned", None)}
    assert nights.rows(TUESDAY)["eu", ""]["why"] == "the store is damaged"
    told = nights.told(WEDNESDAY, us=[])
    assert told == {("eu", ""): ("unknown", MONDAY), ("us", ""): ("planned", None)}
    assert "no plan was made of it" in str(nights.rows(WEDNESDAY)["eu", ""]["why"])
    told = nights.told("2026-11-19", eu=[drifted()], us=[])
    assert told["eu", "topic/orders"] == ("open", MONDAY)
    assert told["eu", "topic/b"] == ("mended", MONDAY)


def test_the_same_night_again_replaces_itself_alone(nights: Nights) -> None:
    nights.told(MONDAY, eu=[drifted()])
    monday = nights.files()
    told = nights.told(TUESDAY, eu=[drifted(), drifted("topic/b")])
    again = nights.told(TUESDAY, eu=[drifted(), drifted("topic/b")])
    assert told == again
    assert told["eu", "topic/b"] == ("new", TUESDAY)
    nothing = nights.told(TUESDAY, eu=[])
    assert nothing == {("eu", ""): ("planned", None), ("eu", "topic/orders"): ("mended", MONDAY)}
    assert monday.items() <= nights.files().items()
    assert len(nights.files()) == 2
    earlier = nights.told("2026-11-15", eu=[])
    assert earlier == {("eu", ""): ("planned", None)}, "what came later is not before it"


def test_what_was_last_seen_too_long_ago_is_forgotten(nights: Nights) -> None:
    nights.told(MONDAY, eu=[], gone=[drifted()])
    run = write_run(nights.run(), eu=[])
    assert ("gone", "") in nights.add(WEDNESDAY, run, not_before=MONDAY)
    assert ("gone", "") not in nights.add(WEDNESDAY, run, not_before=TUESDAY)


def test_clusters_keep_their_names(nights: Nights) -> None:
    """Spark reads ``cluster=007`` as a number and ``night=…`` as a date, if it is let."""
    told = nights.told(MONDAY, **{"007": [], "1e3": [], "a/b c": [drifted()]})
    assert {cluster for cluster, _ in told} == {"007", "1e3", "a/b c"}
    assert nights.told(TUESDAY, **{"007": []})["a/b c", ""] == ("unknown", MONDAY)


@pytest.mark.parametrize("plan", [None, "{}", '{"drift": 1}', "{"], ids=str)
def test_a_plan_without_its_drift_is_no_night_without_drift(
    nights: Nights, plan: str | None
) -> None:
    nights.told(MONDAY, eu=[drifted()])
    before = nights.files()
    run = write_run(nights.run(), us=[])
    write_unit(run, "eu", plan=plan)
    with pytest.raises(spark_errors(), match="no drift in the plan of eu fleet"):
        nights.add(TUESDAY, run)
    assert nights.files() == before


def test_a_damaged_run_leaves_the_history_as_it_is(nights: Nights) -> None:
    nights.told(MONDAY, eu=[drifted()])
    nights.told(TUESDAY, eu=[])
    before = nights.files()
    run = write_run(nights.run(), eu=[drifted()])
    next(run.rglob("*.parquet")).write_bytes(b"PAR1 and nothing more")
    with pytest.raises(spark_errors()):
        nights.add(TUESDAY, run)
    assert nights.files() == before


def test_of_many_rows_the_first_are_shown_and_all_counted(nights: Nights) -> None:
    nights.told(MONDAY, eu=[drifted(f"topic/{number}") for number in range(5)], us=[])
    rows = nights.rows(MONDAY, most=2)
    shown = [address for (cluster, address) in rows if cluster == "eu" and address]
    assert shown == ["topic/0", "topic/1"]
    assert {row["of"] for row in rows.values() if row["state"] == "new"} == {5}


def test_names_and_values_of_others_do_nothing_on_the_page() -> None:
    row = {
        "cluster": "eu",
        "project": "fleet",
        "state": "new",
        "address": "acl/User:a|b/Allow",
        "path": "",
        "rule": "missing",
        "last_applied": "`x` | <img src=x> @all",
        "found": None,
        "since": MONDAY,
        "why": None,
        "of": 3,
    }
    with example_modules("page") as (page,):
        text = page.drift_page(MONDAY, [row], {("eu", row["address"], ""): "User:e|ve at noon"})
    (line,) = [line for line in text.splitlines() if "img" in line]
    assert "`` `x` \\| <img src=x> @all ``" in line
    assert line.replace("\\|", "").count("|") == 8
    assert "`User:e\\|ve at noon`" in line
    assert "… and 2 more, in the history." in text
    assert text.startswith(
        f"# Drift of {MONDAY}\n\n3 new, 0 changed again, 0 still open, 0 mended."
    )
