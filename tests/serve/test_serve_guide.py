"""The guide's Kafka for tests: the command, and Kafka's own tool that a policy refuses."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from other_processes import running

from kgitops.sandbox.jars import fetch_libs
from kgitops.sandbox.jvm import Jvm, find_java

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "serve.md"
TOPICS = "org.apache.kafka.tools.TopicCommand"
STEP = re.compile(r"^\$ (?P<command>.*)\n(?P<says>.*)$", re.MULTILINE)
pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]


def test_a_policy_refuses_kafka_topics_as_the_guide_shows(tmp_path: Path) -> None:
    """Only the ports may differ, where 9092 is taken."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    section = GUIDE.read_text().partition("\n## Policies\n")[2].partition("\n## ")[0]
    (serve, ready), (create, refused) = STEP.findall(section)
    words = shlex.split(serve)
    with running(
        [sys.executable, "-m", *words, "--listen", "127.0.0.1:0"],
        cwd=tmp_path,
        env=os.environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert re.sub(r":\d+", ":", line) == re.sub(r":\d+", ":", f"{ready}\n")
            address = line.partition("//")[2].partition(",")[0]
            name, *options = shlex.split(create.replace("127.0.0.1:9092", address))
            assert name == "kafka-topics.sh"
            jvm = Jvm(java=find_java(), libs=fetch_libs(lambda _: None), log4j2=tmp_path / "none")
            done = jvm.run(TOPICS, *options)
            assert (done.returncode, done.stdout.splitlines()[0]) == (1, refused)
            done = jvm.run(TOPICS, *(word.replace("500", "6") for word in options))
            assert (done.returncode, done.stdout) == (0, "Created topic clicks.\n")
        finally:
            process.terminate()
        assert process.wait(30) == 0
