"""Kafka's jars, downloaded once into the user's cache folder and checked against ``jars.txt``."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from msgspec import Struct
from platformdirs import user_cache_path

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command
from kgitops.sandbox.files import exclusive

KAFKA = "4.3.0"
"""The release whose brokers the embedded cluster answers like (docs/guides/sandbox.md)."""
_MEGABYTES = 56


class Jar(Struct, frozen=True, kw_only=True):
    """One line of ``jars.txt``."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}-{self.version}.jar"


def pinned_jars(listed: Path | None = None) -> tuple[Jar, ...]:
    """Every jar that a broker and Kafka's tools need, each in one version.

    ``listed`` is the list of another release.
    """
    text = (listed or files("kgitops.sandbox").joinpath("jars.txt")).read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    split = ((*coordinates.split(":"), digest) for coordinates, digest in rows)
    return tuple(Jar(group=g, name=n, version=v, sha256=digest) for g, n, v, digest in split)


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


_MAVEN_TIMEOUT_S = 900
_JGO_THREADS = 8


def download(
    jars: Sequence[Jar], folder: Path, stage: str, on_stage: Callable[[str], None]
) -> None:
    """Download exactly these jars into ``folder``, showing ``stage``.

    The machine's Maven is used first, because it knows its mirrors and proxies, else jgo.

    Raises:
        KgitopsError: there is neither Maven nor jgo, or a jar can't be downloaded.
    """
    on_stage(stage)
    if shutil.which("mvn"):
        _download_with_maven(jars, folder)
    elif find_spec("jgo"):
        _download_with_jgo(
            jars, folder, lambda count: on_stage(f"{stage}: {count} of {len(jars)} files")
        )
    else:
        raise KgitopsError(
            "Kafka can't be downloaded without Maven; install Maven, or run "
            f"{install_command('sandbox')}, which installs a replacement for it"
        )


def _download_with_maven(jars: Sequence[Jar], folder: Path) -> None:
    with tempfile.TemporaryDirectory() as project:
        pom = Path(project, "pom.xml")
        pom.write_bytes(_pom(jars))
        command = ["mvn", "--quiet", "--batch-mode", "--file", str(pom)]
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        try:
            completed = subprocess.run(
                [*command, *goal],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_MAVEN_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KgitopsError(f"Maven can't download Kafka: {error}; start again") from error
    if completed.returncode:
        output = f"{completed.stdout}\n{completed.stderr}".splitlines()
        first = next((line for line in output if "ERROR" in line), "it printed no error")
        raise KgitopsError(f"Maven can't download Kafka: {first.split('[ERROR] ')[-1]}")


def _pom(jars: Sequence[Jar]) -> bytes:
    """A project that depends on the jars, but not on their dependencies."""
    project = Element("project")
    for name, text in (
        ("modelVersion", "4.0.0"),
        ("groupId", "kgitops"),
        ("artifactId", "sandbox"),
        ("version", "1"),
    ):
        SubElement(project, name).text = text
    dependencies = SubElement(project, "dependencies")
    for jar in jars:
        dependency = SubElement(dependencies, "dependency")
        SubElement(dependency, "groupId").text = jar.group
        SubElement(dependency, "artifactId").text = jar.name
        SubElement(dependency, "version").text = jar.version
        exclusion = SubElement(SubElement(dependency, "exclusions"), "exclusion")
        SubElement(exclusion, "groupId").text = SubElement(exclusion, "artifactId").text = "*"
    return tostring(project)


def _download_with_jgo(
    jars: Sequence[Jar], folder: Path, on_progress: Callable[[int], None]
) -> None:
    """Download with jgo, but without its resolution of dependencies, which differs from Maven's."""
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory(dir=folder) as cache:
        # Not Maven's own cache: Maven would find the rest of a download that broke off.
        context = MavenContext(repo_cache=Path(cache), timeout=60)

        def fetch(jar: Jar) -> None:
            project = context.project(jar.group, jar.name)
            path = project.at_version(jar.version).artifact().resolve()
            path.rename(folder / jar.file)

        with ThreadPoolExecutor(_JGO_THREADS) as pool:
            running = {pool.submit(fetch, jar): jar for jar in jars}
            try:
                for count, future in enumerate(as_completed(running), 1):
                    if error := future.exception():
                        raise KgitopsError(
                            f"{running[future].file} can't be downloaded: {error}; start again"
                        ) from error
                    on_progress(count)
            finally:
                pool.shutdown(cancel_futures=True)
