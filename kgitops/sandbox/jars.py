"""Kafka's jars, downloaded once into the user's cache folder."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.maven import download_with_maven

KAFKA = "4.3.0"
"""The newest release whose tools resolve; 4.4.0 has no ``kafka-tools``."""
LOG4J = "2.25.4"
"""What that release is built with."""
ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA),
    ("org.apache.kafka", "kafka-tools", KAFKA),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J),
)


def libs_folder() -> Path:
    """Where the jars are, or will be."""
    return user_cache_path("kgitops") / f"kafka-{KAFKA}"


def fetch_libs(on_stage: Callable[[str], None]) -> Path:
    """The folder with all jars; downloaded if this is the first time on this machine.

    A half download is never used: the folder gets its name when it is whole. Whoever else starts
    at the same time waits.

    Raises:
        KgitopsError: the jars can't be downloaded.
    """
    libs = libs_folder()
    if libs.is_dir():
        return libs
    libs.parent.mkdir(parents=True, exist_ok=True)
    on_stage(f"waiting for another download of Kafka {KAFKA}")
    with FileLock(libs.with_suffix(".lock")):
        if libs.is_dir():
            return libs
        on_stage(f"downloading Kafka {KAFKA} (about 55 MB, once on this machine)")
        folder = Path(tempfile.mkdtemp(prefix="kafka-", dir=libs.parent))
        try:
            download_with_maven(ARTIFACTS, folder)
            _check(folder)
            folder.rename(libs)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return libs


def _check(folder: Path) -> None:
    for _, name, version in ARTIFACTS:
        if not (folder / f"{name}-{version}.jar").is_file():
            raise KgitopsError(f"the download brought no {name} {version}; try again")
