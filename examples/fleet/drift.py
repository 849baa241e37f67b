"""Drift night by night: a small Spark job over what ``kgitops fleet plan`` wrote.

It takes any ``SparkSession``, classic or Connect, and any path that Spark can read and write.

The history has a row for each unit (a project on a cluster) and night, which says whether it was
planned, and one for each difference. Because of the former a night without drift is something else
than a night on which nobody could look.
"""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (as all of Spark's pages call it)

_UNIT = ["cluster", "project"]
_OPEN = ["new", "changed", "open"]
_VALUES = ["rule", "last_applied", "found", "why"]
COLUMNS = ["night", *_UNIT, "state", "address", "path", *_VALUES, "since"]
"""``state`` of a unit, whose address is null: ``planned`` or ``unknown``; of a difference: ``new``,
``changed`` since the night before, ``open`` as it was, ``mended``. ``since`` is the night on which
it was first seen, of an unknown unit the one on which it was last planned."""

_HISTORY = ", ".join(f"{name} string" for name in COLUMNS)
_PLANS = """cluster string, project string, status string, plan string,
    reasons array<struct<exit: smallint, sentence: string>>"""
_DRIFT = """array<struct<address: string, path: string, rule: string, last_applied: string,
    found: string>>"""
_UNPLANNED = "no plan was made of it: its cluster was not read, or nothing is declared for it now"


def add_night(
    spark: SparkSession, run: str, history: str, night: str, *, not_before: str = ""
) -> None:
    """Compare the run of a night with the nights before it, and put it into the history.

    A unit is compared with the last night on which it was planned. The same night again replaces
    its own rows and no others. What was last planned before the night ``not_before`` is forgotten.
    """
    plans = spark.read.schema(_PLANS).parquet(f"{run}/plans")
    within = (F.col("night") < night) & (F.col("night") >= not_before)
    earlier = _read(spark, history).where(within & F.col("state").isin("planned", *_OPEN))
    (
        _compared(earlier.unionByName(_tonight(plans, night)), night)
        .select(COLUMNS)
        .write.mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")  # this night's partition, and no other
        .partitionBy("night")
        .parquet(history)
    )


def first_rows(spark: SparkSession, history: str, night: str, most: int) -> DataFrame:
    """The first rows of each state of a night; ``of`` says how many there are."""
    state = Window.partitionBy("state")
    marks = {
        "at": F.row_number().over(state.orderBy(*_UNIT, "address", "path")),
        "of": F.count("*").over(state),
    }
    rows = _read(spark, history).where(F.col("night") == night).withColumns(marks)
    return rows.where(F.col("at") <= most).orderBy("state", "at").drop("at")


def _read(spark: SparkSession, history: str) -> DataFrame:
    return spark.read.schema(_HISTORY).parquet(history)


def _tonight(plans: DataFrame, night: str) -> DataFrame:
    """The units, and what others changed in them that nobody has written into git since."""
    planned = F.col("status") == "planned"
    units = plans.select(
        *_UNIT,
        F.when(planned, "planned").otherwise("unknown").alias("state"),
        F.when(~planned, F.col("reasons")[0]["sentence"]).alias("why"),
    )
    drift = F.from_json(F.get_json_object("plan", "$.drift"), _DRIFT)
    # What can't be read must not look as if all had been mended.
    unread = F.raise_error(F.concat_ws(" ", F.lit("no drift in the plan of"), *_UNIT))
    found = plans.where(planned).select(*_UNIT, F.inline(F.coalesce(drift, unread.cast(_DRIFT))))
    rows = units.unionByName(found.where("rule != 'accepted'"), allowMissingColumns=True)
    return rows.withColumns({"night": F.lit(night), "since": F.lit(None).cast("string")})


def _compared(rows: DataFrame, night: str) -> DataFrame:
    """Each unit, and each difference of tonight or of the unit's last night, with its new state.

    One shuffle, by unit, does for all of it.
    """
    tonight = F.col("night") == night
    unit, is_unit = Window.partitionBy(_UNIT), F.col("address").isNull()
    marked = rows.withColumns(
        {
            "last": F.max(F.when(is_unit & ~tonight, F.col("night"))).over(unit),
            "now": F.max(F.when(is_unit & tonight, F.col("state"))).over(unit),
        }
    )
    both = marked.where(tonight | (F.col("night") == F.col("last")))
    found = both.groupBy(*_UNIT, "address", "path", "last", "now").agg(
        F.max(F.when(tonight, F.struct(_VALUES))).alias("after"),
        F.max(F.when(~tonight, F.struct(_VALUES))).alias("before"),
        F.max("since").alias("since"),
    )
    # Where nobody could look tonight, differences are neither there nor mended.
    known = found.where(is_unit | (F.col("now") == "planned"))
    value = F.when(is_unit, F.col("after")).otherwise(F.coalesce("after", "before"))
    return known.select(
        *_UNIT,
        "address",
        "path",
        F.lit(night).alias("night"),
        _state(is_unit).alias("state"),
        *[value[name].alias(name) for name in _VALUES if name != "why"],
        F.when(is_unit & F.col("now").isNull(), _UNPLANNED).otherwise(value["why"]).alias("why"),
        _since(is_unit, night).alias("since"),
    )


def _state(is_unit: Column) -> Column:
    return (
        F.when(is_unit, F.coalesce("now", F.lit("unknown")))
        .when(F.col("before").isNull(), "new")
        .when(F.col("after").isNull(), "mended")
        .when(F.col("before") == F.col("after"), "open")
        .otherwise("changed")
    )


def _since(is_unit: Column, night: str) -> Column:
    unknown = F.coalesce("now", F.lit("unknown")) != "planned"
    return F.when(is_unit, F.when(unknown, F.col("last"))).otherwise(
        F.coalesce("since", F.lit(night))
    )
