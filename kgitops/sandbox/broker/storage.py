"""The empty data folders of new brokers."""

import base64
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.jvm.jvm import Jvm
from kgitops.sandbox.jvm.jvm_output import first_words

META = "meta.properties"
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def format_data(jvm: Jvm, folders: Mapping[int, Path], users: Mapping[str, str]) -> None:
    """Format the data of all brokers, given the folder of each with its server.properties.

    Kafka's own tool formats the first one's. The others' differ in two ids, which are text, so
    they are copied: a JVM less per broker.

    Raises:
        KgitopsError: Kafka refuses, because of a property that the user gave most often.
    """
    (first, folder), *others = folders.items()
    scram = [
        word
        for name, password in users.items()
        for mechanism in _SCRAM
        for word in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
    ]
    config = str(folder / "server.properties")
    done = jvm.run("kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", config, *scram)
    if done.returncode:
        raise KgitopsError(f"Kafka can't format its data: {first_words(done.stderr + done.stdout)}")
    for broker_id, other in others:
        shutil.copytree(folder / "data", other / "data")
        meta = other / "data" / META
        text = meta.read_text()
        text = re.sub(rf"(?m)^node\.id={first}$", f"node.id={broker_id}", text)
        meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={_new_id()}", text))


def _new_id() -> str:
    """Kafka's spelling of a UUID; one that begins with a dash looks like an option."""
    while (text := _spelt(uuid.uuid4())).startswith("-"):
        pass
    return text


def _spelt(value: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def write_properties(file: Path, properties: Mapping[str, str]) -> None:
    """Write a Java properties file."""
    lines: Sequence[str] = [f"{key}={_escaped(value)}\n" for key, value in properties.items()]
    file.write_text("".join(lines), encoding="ascii", errors="strict")


def _escaped(value: str) -> str:
    """Backslashes, line ends and what isn't ASCII as Java writes them."""
    return value.encode("unicode_escape").decode("ascii")
