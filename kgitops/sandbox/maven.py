"""Downloads jars with the machine's Maven."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from kgitops.model.errors import KgitopsError

Artifact = tuple[str, str, str]
"""Group, name and version."""
_PATIENCE_S = 900


def find_maven() -> Path | None:
    """The machine's ``mvn``."""
    found = shutil.which("mvn")
    return Path(found) if found else None


def download_with_maven(artifacts: Sequence[Artifact], folder: Path) -> None:
    """Put the jars and all that they need at run time into ``folder``.

    Raises:
        KgitopsError: Maven fails; its first complaint is in the sentence.
    """
    with tempfile.TemporaryDirectory() as project:
        pom = Path(project, "pom.xml")
        pom.write_bytes(_pom(artifacts))
        words = ["mvn", "--quiet", "--batch-mode", "--file", str(pom)]
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        done = subprocess.run(
            [*words, *goal, f"-DoutputDirectory={folder}"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    if done.returncode:
        complaints = [line for line in done.stdout.splitlines() if "[ERROR]" in line]
        first = complaints[0].split("[ERROR] ")[-1] if complaints else done.stderr.strip()
        raise KgitopsError(f"Maven can't download Kafka: {first}; try again, or run without mvn")


def _pom(artifacts: Sequence[Artifact]) -> bytes:
    project = Element("project")
    for name, text in (
        ("modelVersion", "4.0.0"),
        ("groupId", "kgitops"),
        ("artifactId", "sandbox"),
        ("version", "1"),
    ):
        SubElement(project, name).text = text
    dependencies = SubElement(project, "dependencies")
    for artifact in artifacts:
        dependency = SubElement(dependencies, "dependency")
        for name, text in zip(("groupId", "artifactId", "version"), artifact, strict=True):
            SubElement(dependency, name).text = text
    return tostring(project)
