"""Downloads jars with the machine's Maven."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.jvm.pinned import Jar

_PATIENCE_S = 900


def download(jars: Sequence[Jar], folder: Path) -> None:
    """Put exactly these jars into ``folder``.

    Raises:
        KgitopsError: Maven fails; its first complaint is in the sentence.
    """
    with tempfile.TemporaryDirectory() as project:
        pom = Path(project, "pom.xml")
        pom.write_bytes(_pom(jars))
        words = ["mvn", "--quiet", "--batch-mode", "--file", str(pom)]
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        try:
            done = subprocess.run(
                [*words, *goal],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KgitopsError(f"Maven can't download Kafka: {error}; start again") from error
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".splitlines()
        first = next((line for line in said if "ERROR" in line), "it said nothing")
        raise KgitopsError(f"Maven can't download Kafka: {first.split('[ERROR] ')[-1]}")


def _pom(jars: Sequence[Jar]) -> bytes:
    """A project that depends on the jars, and not on what they depend on."""
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
        every = SubElement(SubElement(dependency, "exclusions"), "exclusion")
        SubElement(every, "groupId").text = SubElement(every, "artifactId").text = "*"
    return tostring(project)
