"""The tutorial, as a reader goes through it: each file is written and each command runs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from installed import BASH
from other_processes import running
from strangers import stranger_on_the_first_port

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-steps.md"
SERVED = PAGE.with_name("a-kafka-for-tests.md")
KAFKA = "## 8. A real Kafka"
STEP = re.compile(
    r"^`(?P<file>[\w/.-]+)`:\n\n```(?:yaml|python)\n(?P<text>.*?)^```$"
    r"|^\$ (?P<command>[^\n#]*?) *(?:# exits (?P<code>\d+))?$"
    r"|^```text\n(?P<shown>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Done(NamedTuple):
    command: str
    code: int
    said: str


@pytest.mark.slow  # some thirty processes
def test_the_tutorial_works_in_its_order(here: Path) -> None:
    """Commands exit as the page says, and print each line that it shows."""
    commands = go_through(PAGE.read_text().partition(KAFKA)[0], here, os.environ.copy())
    assert sum(command.startswith("kgitops ") for command in commands) > 20


@pytest.mark.kafka
@pytest.mark.xdist_group("sandbox-commands")
def test_the_tutorial_ends_on_a_real_kafka(here: Path, tmp_path: Path) -> None:
    """The lines as they are, while another Kafka has the sandbox's first port."""
    text = PAGE.read_text()
    begin, end = text.index("## 1."), text.index("## 4.")
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    go_through(text[begin:end], here, environ)
    start, *rest = re.findall(r"^\$ kgitops .*$", text[text.index(KAFKA) :], re.MULTILINE)
    shop = here / "shop"
    with stranger_on_the_first_port(tmp_path / "state") as other:
        try:
            assert (
                f"Port {other.port} is in use" in run(start.removeprefix("$ "), shop, environ).said
            )
            assert len(go_through("\n".join(rest), shop, environ)) == 6
        finally:
            run("kgitops sandbox stop --yes", shop, environ)
        assert other.connections == 0


@pytest.mark.slow
def test_the_tutorial_on_a_kafka_for_tests_works_in_its_order(here: Path) -> None:
    """Only the ports may be others."""
    before, _, after = SERVED.read_text().partition("$ kgitops serve -c embedded:\n")
    environ = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    go_through(before, here, environ)
    words = [sys.executable, "-m", "kgitops", "serve", "-c", "embedded:", "--listen", "127.0.0.1:0"]
    with running(words, cwd=here / "shop", stdout=subprocess.PIPE, text=True) as serve:
        try:
            assert serve.stdout is not None
            ready = serve.stdout.readline()
            shown, _, rest = after.partition("```text\n")[2].partition("```\n")
            assert re.sub(r":\d+", ":", ready) == re.sub(r":\d+", ":", shown)
            address = ready.partition("//")[2].partition(",")[0]
            text = rest.replace("127.0.0.1:9092", address)
            assert len(go_through(text, here / "shop", environ)) == 4
        finally:
            serve.terminate()
        assert serve.wait(30) == 0


def go_through(text: str, folder: Path, environ: dict[str, str]) -> list[str]:
    """Do what the text says; the commands that were run."""
    commands = []
    said = ""
    for step in STEP.finditer(text):
        if step["file"]:
            (folder / step["file"]).write_text(step["text"])
        elif step["shown"]:
            for line in step["shown"].splitlines():
                assert shows(line, said), (commands[-1], line, said)
        elif step["command"].startswith("cd "):
            folder = folder / step["command"].removeprefix("cd ")
        else:
            done = run(step["command"], folder, environ)
            assert done.code == int(step["code"] or 0), done
            commands.append(step["command"])
            said = done.said
    return commands


def run(command: str, folder: Path, environ: dict[str, str]) -> Done:
    """Run one line of the page, with the kgitops that is tested."""
    command = re.sub(r"^python\b", sys.executable, command)
    command = re.sub(r"^kgitops\b", f"{sys.executable} -m kgitops", command)
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(command, done.returncode, " ".join(f"{done.stdout}\n{done.stderr}".split()))


def shows(line: str, said: str) -> bool:
    """True if the line was printed; ``…`` stands for any text without a break."""
    parts: Iterator[str] = map(re.escape, " ".join(line.split()).split("…"))
    return re.search(r"\S*?".join(parts), said) is not None
