"""Java's AdminClient, producer and consumer, of four releases in eight years."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from java_classes import compile_java
from serve.clients.downloads import HERE, java_client
from serve.clients.reports import ClientCall, check, run

from kgitops.sandbox.jars import KAFKA, fetch_libs
from kgitops.sandbox.jvm import find_java

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-java")]

PARTS = {
    "1.1.1": ("Every", "Before2", "Before4", "DataBefore2"),
    "2.8.2": ("Every", "Before4", "Since2_8", "Data"),
    "3.9.1": ("Every", "Before4", "Since2_8", "Since3_9", "Data"),
    "4.3.0": ("Every", "Since4", "Since2_8", "Since3_9", "Data", "ShareGroups"),
}
"""The classes of the scenario that a release of the client can be compiled with."""


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.3.0"])
def test_java(version: str, servers: str, tmp_path: Path) -> None:
    check(f"Java {version}", scenario(version, servers, tmp_path))


def test_java_of_2018(old_servers: str, tmp_path: Path) -> None:
    """Kafka 4 does not answer it any more (KIP-896); in seed mode it is answered (A4-18)."""
    check("Java 1.1.1", scenario("1.1.1", old_servers, tmp_path))


def scenario(version: str, servers: str, folder: Path) -> Sequence[ClientCall]:
    """Compile the parts against the client's own jar and run them with it."""
    libs = fetch_libs(lambda _: None)
    jar = next(libs.glob("kafka-clients-*.jar")) if version == KAFKA else java_client(version)
    names = ("Calls", "Scenario", *PARTS[version])
    sources = {name: (HERE / "java" / f"{name}.java").read_text("utf-8") for name in names}
    jars = [jar, *libs.glob("slf4j-api-*.jar")]
    classes = compile_java(sources, folder, jars)
    path = os.pathsep.join(map(str, [*jars, classes]))
    flags = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
    return run([find_java(), *flags, "-cp", path, "Scenario", servers, *PARTS[version]])
