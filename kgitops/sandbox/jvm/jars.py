"""Kafka's jars, downloaded once into the user's cache folder and checked against ``jars.txt``."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.jvm.maven import Jar, download, pinned_jars
from kgitops.sandbox.locking import exclusive

KAFKA = "4.3.0"
"""The newest complete release: 4.4.0 has no ``kafka-tools`` (docs/guides/sandbox.md)."""
_MEGABYTES = 56


def libs_folder() -> Path:
    """The folder of the jars, which may not exist yet."""
    return user_cache_path("kgitops") / f"kafka-{KAFKA}"


def fetch_libs(on_stage: Callable[[str], None]) -> Path:
    """The folder with Kafka's jars; downloaded if this is the first time on this machine.

    Raises:
        KgitopsError: the jars can't be downloaded, or are not the pinned ones.
    """
    label = f"Kafka {KAFKA} ({_MEGABYTES} MB, once on this machine)"
    return fetch_jars(pinned_jars(), libs_folder(), label, on_stage)


def fetch_jars(
    jars: Sequence[Jar], folder: Path, label: str, on_stage: Callable[[str], None]
) -> Path:
    """The folder, with exactly these jars in it; ``label`` names them while they are downloaded.

    An incomplete download is never used: the folder gets its name when it is complete. Another
    process that starts at the same time waits.

    Raises:
        KgitopsError: the jars can't be downloaded, or are not the pinned ones.
    """
    if folder.is_dir():
        return folder
    with exclusive(folder, lambda: on_stage(f"waiting for another process that downloads {label}")):
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)  # of a download that was killed
            part.mkdir()
            download(jars, part, f"downloading {label}", on_stage)
            check_jars(jars, part)
            part.rename(folder)
    return folder


def check_jars(jars: Sequence[Jar], folder: Path) -> None:
    """Refuse a folder that does not hold exactly these jars.

    Raises:
        KgitopsError: one is missing, or differs.
    """
    for jar in jars:
        file = folder / jar.file
        if not file.is_file():
            raise KgitopsError(f"the download of Kafka brought no {jar.file}; start again")
        if hashlib.sha256(file.read_bytes()).hexdigest() != jar.sha256:
            raise KgitopsError(
                f"{jar.file} is not the file that kgitops was tested with; ask the operator of "
                "the mirror that it came from, and do not use it"
            )
