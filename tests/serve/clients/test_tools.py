"""Kafka's own tools of today, one command line after the other in one JVM."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from java_classes import compile_java
from serve.clients.downloads import HERE
from serve.clients.reports import ClientCall, check, output
from serve.clients.tool_calls import CLUSTER, CUT, MOVE, TOOL_CALLS, ToolCall

from kgitops.sandbox.jvm import LOG4J2
from kgitops.sandbox.sandbox import prepare_jvm

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-tools")]

_END = re.compile(r"^=== exit (\d+)\n", re.MULTILINE)


def test_tools(servers: str, tmp_path: Path) -> None:
    check("Kafka's tools", scenario(servers, tmp_path))


def scenario(servers: str, folder: Path) -> Sequence[ClientCall]:
    """Run all command lines."""
    sources = {"Tools": (HERE / "java" / "Tools.java").read_text("utf-8")}
    jvm = prepare_jvm(folder / "jvm", [compile_java(sources, folder)], lambda _: None)
    jvm.log4j2.write_text(LOG4J2)
    _write_files(folder)
    lines = folder / "lines"
    lines.write_text("".join(_line(call, servers, folder) for call in TOOL_CALLS))
    printed = output(jvm.command("Tools", str(lines)), cwd=folder)
    return list(_calls(printed))


def _write_files(folder: Path) -> None:
    move = {"topic": "orders", "partition": 0, "replicas": [3, 1]}
    (folder / MOVE).write_text(json.dumps({"version": 1, "partitions": [move]}))
    cut = {"topic": "data", "partition": 0, "offset": 1}
    (folder / CUT).write_text(json.dumps({"version": 1, "partitions": [cut]}))


def _line(call: ToolCall, servers: str, folder: Path) -> str:
    words = call.words.split(" ") if call.words else []
    at = 1 if call.main == CLUSTER else 0  # kafka-cluster has a verb in front
    words[at:at] = ["--bootstrap-server", servers]
    return "\t".join((call.main, "|".join(call.stdin), *words)) + "\n"


def _calls(printed: str) -> Iterator[ClientCall]:
    parts = _END.split(printed)
    told = dict(enumerate(zip(parts[::2], parts[1::2], strict=False)))
    for index, call in enumerate(TOOL_CALLS):
        text, status = told.get(index, ("it did not run", "-1"))
        right = int(status) == call.exit and re.search(call.says, text)
        problem = "" if right else f"exit {status}, and it says: {text.strip()[:600]}"
        yield ClientCall(family=call.family, name=call.name, problem=problem)
