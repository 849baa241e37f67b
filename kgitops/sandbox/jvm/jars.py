"""Kafka's jars, downloaded once into the user's cache folder and checked against ``jars.txt``."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command
from kgitops.sandbox.jvm.pinned import Jar, pinned_jars
from kgitops.sandbox.locking import alone

KAFKA = "4.3.0"
"""The newest release that is whole: 4.4.0 has no ``kafka-tools`` (docs/sandbox.md)."""
_MEGABYTES = 56


def libs_folder() -> Path:
    """Where the jars are, or will be."""
    return user_cache_path("kgitops") / f"kafka-{KAFKA}"


def fetch_libs(on_stage: Callable[[str], None]) -> Path:
    """The folder with Kafka's jars; downloaded if this is the first time on this machine.

    Raises:
        KgitopsError: the jars can't be downloaded, or are not those that were pinned.
    """
    what = f"Kafka {KAFKA} ({_MEGABYTES} MB, once on this machine)"
    return fetch_jars(pinned_jars(), libs_folder(), what, on_stage)


def fetch_jars(
    jars: Sequence[Jar], folder: Path, what: str, on_stage: Callable[[str], None]
) -> Path:
    """The folder, with exactly these jars in it; ``what`` they are is told if it takes a while.

    A half download is never used: the folder gets its name when it is whole. Whoever else starts
    at the same time waits.

    Raises:
        KgitopsError: the jars can't be downloaded, or are not those that were pinned.
    """
    if folder.is_dir():
        return folder
    with alone(folder, lambda: on_stage(f"waiting for another process that downloads {what}")):
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)  # of a download that was killed
            part.mkdir()
            _download(jars, part, f"downloading {what}", on_stage)
            check_jars(jars, part)
            part.rename(folder)
    return folder


def _download(
    jars: Sequence[Jar], folder: Path, what: str, on_stage: Callable[[str], None]
) -> None:
    """With the machine's Maven, which knows its mirrors and proxies, else with the package jgo."""
    on_stage(what)
    if shutil.which("mvn"):
        from kgitops.sandbox.jvm.maven import download

        download(jars, folder)
    elif find_spec("jgo"):
        from kgitops.sandbox.jvm.packaged_maven import download_all

        download_all(jars, folder, lambda done: on_stage(f"{what}: {done} of {len(jars)} files"))
    else:
        raise KgitopsError(
            "Kafka can't be downloaded without Maven; install Maven, or run "
            f"{install_command('sandbox')}, which brings what does its work"
        )


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
                f"{jar.file} is not the file that kgitops was tested with; ask who runs the mirror "
                "that it came from, and do not use it"
            )
