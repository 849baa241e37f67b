"""``kgitops serve`` as a user runs it: a process, its one line, and its end by a signal."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.policed import write_module
from cli.projects import EXAMPLES, Project, topic
from msgspec import Struct
from other_processes import running
from ports import first_port
from serve.raw_client import RawClient, raw_client

from kgitops.model.results import ErrorCode
from kgitops.serve.nodes import Endpoint
from kgitops.serve.store_lock import served_alone
from kgitops.wire import messages
from kgitops.wire.apis import apis

READY = re.compile(r"ready kafka://(\S+)\n")
SECONDS = 30


class Served(Struct, frozen=True):
    """A ``kgitops serve`` that is ready."""

    process: subprocess.Popen[str]
    line: str

    @property
    def endpoints(self) -> list[Endpoint]:
        found = READY.fullmatch(self.line)
        assert found, self.line
        parts = [address.rpartition(":") for address in found[1].split(",")]
        return [Endpoint(host, int(port)) for host, _, port in parts]

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Its exit code, and what else it printed."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


Start = Callable[..., Served]


@pytest.fixture
def serve(here: Path) -> Iterator[Start]:
    """Starts the command in a process of its own, and waits until it is ready."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, listen: str = "127.0.0.1:0") -> Served:
        process = subprocess.Popen(
            [sys.executable, "-m", "kgitops", "serve", *map(str, words), "--listen", listen],
            cwd=here,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()
        return Served(process, line)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def create(
    client: RawClient, name: str, partitions: int = 1, timeout_ms: int = 10_000
) -> messages.Message:
    """The answer about one topic that is asked for."""
    request = messages.CreateTopicsRequest
    wanted = request.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = client.ask("CreateTopics", 7, request(topics=[wanted], timeout_ms=timeout_ms))
    (found,) = answer.topics
    return found


def topic_names(client: RawClient) -> set[str]:
    answer = client.ask("Metadata", 12, messages.MetadataRequest(topics=None))
    return {found.name for found in answer.topics}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_acknowledged_is_kept_when_a_signal_ends_it(
    number: signal.Signals, serve: Start
) -> None:
    served = serve("-c", "embedded:kept.db", "--brokers", 1)
    with raw_client(served.endpoints[0]) as client:
        assert create(client, "orders").error_code == 0
    assert served.end(number) == (0, "", "")
    again = serve("-c", "embedded:kept.db")
    with raw_client(again.endpoints[0]) as client:
        assert topic_names(client) == {"orders"}


def test_what_was_acknowledged_is_kept_after_a_kill(serve: Start, here: Path) -> None:
    """And the next one takes neither the lock nor the ready file that it left for those of one."""
    words = ("-c", "embedded:kept.db", "--brokers", 1, "--ready-file", "ready")
    served = serve(*words)
    with raw_client(served.endpoints[0]) as client:
        assert create(client, "orders").error_code == 0
        served.process.kill()
        served.process.wait()
    assert (here / "ready").read_text() == served.line
    again = serve(*words)
    assert (here / "ready").read_text() == again.line != served.line
    with raw_client(again.endpoints[0]) as client:
        assert topic_names(client) == {"orders"}


def test_a_second_one_leaves_the_first_one_alone(
    serve: Start, kgitops: Kgitops, here: Path
) -> None:
    words = ("-c", "embedded:one.db", "--ready-file", "ready")
    served = serve(*words)
    ran = kgitops("serve", *words, "--listen", "127.0.0.1:0")
    assert (ran.code, ran.out) == (7, ""), ran.said
    assert (here / "ready").read_text() == served.line
    port = served.endpoints[0].port
    ran = kgitops("serve", "-c", "embedded:", "--listen", f"127.0.0.1:{port}")
    assert (ran.code, ran.out) == (8, ""), ran.said
    with raw_client(served.endpoints[0]) as client:
        client.ask("ApiVersions", 3)


def test_a_terminal_that_goes_away_ends_it_too(serve: Start) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where tests run under nohup
    try:
        served = serve("-c", "embedded:")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert served.end(signal.SIGHUP) == (0, "", "")


def test_an_ignored_signal_stays_ignored(here: Path) -> None:
    """A shell's background jobs ignore SIGINT."""
    script = (
        "import signal, sys; from kgitops.cli.main import run; "
        "signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "sys.argv[1:] = ['serve', '-c', 'embedded:', '--listen', '127.0.0.1:0']; run()"
    )
    words = [sys.executable, "-c", script]
    with running(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert READY.fullmatch(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_a_store_that_is_held_is_told_to_clients_and_in_one_line(serve: Start, here: Path) -> None:
    """Another process writes to it for too long: nothing is decided, and nothing breaks."""
    served = serve("-c", "embedded:held.db?lockTimeoutMs=50", "--brokers", 1)
    with closing(sqlite3.connect(here / "held.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with raw_client(served.endpoints[0]) as client:
            assert create(client, "orders", timeout_ms=300).error_code != 0
        other.execute("ROLLBACK")
    with raw_client(served.endpoints[0]) as client:
        assert create(client, "orders").error_code == 0
    code, out, err = served.end()
    assert (code, out) == (0, "")
    assert "has been locked by another process" in err
    assert "Traceback" not in err


def test_a_store_that_is_held_can_get_no_more_brokers(kgitops: Kgitops, here: Path) -> None:
    words = ("serve", "-c", "embedded:held.db?lockTimeoutMs=50", "--listen", "127.0.0.1:0")
    assert kgitops("snapshot", *words[1:3], "-o", "state.json").code == 0
    with closing(sqlite3.connect(here / "held.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ran = kgitops(*words, "--brokers", 5)
    assert (ran.code, ran.out) == (7, ""), ran.said
    assert "has been locked by another process" in ran.said
    ran = kgitops(*words, "--brokers", 2)
    assert (ran.code, ran.out) == (64, ""), ran.said
    assert "a broker can't be dropped" in ran.said


def test_an_open_connection_does_not_keep_it_from_ending(serve: Start) -> None:
    served = serve("-c", "embedded:")
    with raw_client(served.endpoints[0]) as client:
        client.ask("ApiVersions", 3)
        assert served.end()[0] == 0
        with pytest.raises(ConnectionError):
            client.ask("ApiVersions", 3)


def test_the_ready_file_has_the_line_while_it_runs(serve: Start, here: Path) -> None:
    ready = here / "ready"
    ready.write_text("ready kafka://127.0.0.1:1\n")
    served = serve("-c", "embedded:", "--ready-file", ready)
    assert ready.read_text() == served.line
    assert [path.name for path in here.iterdir()] == ["ready"], "and no draft of it"
    served.end()
    assert not ready.exists()


def test_other_machines_are_let_in_only_when_that_is_said(serve: Start) -> None:
    address = socket.gethostbyname(socket.gethostname())
    served = serve("-c", "embedded:", "--allow-anonymous", listen=f"{address}:0")
    assert {endpoint.host for endpoint in served.endpoints} == {address}
    with raw_client(served.endpoints[0]) as client:
        client.ask("ApiVersions", 3)


def test_metrics_and_faults_have_doors_of_their_own(serve: Start, here: Path) -> None:
    port = first_port()
    words = ("--metrics", port, "--control", "faults", "--controllers", 3)
    served = serve("-c", "embedded:", *words)
    with raw_client(served.endpoints[0]) as client:
        create(client, "orders")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert b"forwarding" in answer.read()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
        assert answer.read() == b"ok\n"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/")
    with closing(socket.socket(socket.AF_UNIX)) as control:
        control.connect("faults")
        control.sendall(b'{"do": "fence", "broker": 2}\n{"do": "status"}\n')
        with control.makefile() as lines:
            fenced, status = json.loads(lines.readline()), json.loads(lines.readline())
    assert fenced == {"ok": True}
    assert list(status["brokers"]) == ["1", "3"]
    assert len(status["controllers"]) == 3
    assert served.end() == (0, "", "")
    assert list(here.iterdir()) == []


def test_a_port_in_use_for_metrics_closes_all_listeners(kgitops: Kgitops, here: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        words = ("--listen", "127.0.0.1:0", "--metrics", port, "--ready-file", "ready")
        ran = kgitops("serve", "-c", "embedded:", *words)
    assert (ran.code, ran.out) == (8, ""), ran.said
    assert "choose another port with --metrics" in ran.said
    assert list(here.iterdir()) == []


def test_ports_follow_the_first_one(serve: Start) -> None:
    port = first_port(2)
    served = serve("-c", "embedded:", "--brokers", 2, listen=f"127.0.0.1:{port}")
    assert [endpoint.port for endpoint in served.endpoints] == [port, port + 1]


@pytest.mark.parametrize(("url", "oldest"), [("embedded:", 2), ("embedded:?compat=seed", 0)])
def test_it_answers_as_todays_kafka_by_default(serve: Start, url: str, oldest: int) -> None:
    """KIP-896: Kafka 4 has no CreateTopics below version 2, which KIP-4 has from 0 on."""
    served = serve("-c", url, "--brokers", 1)
    request = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    with raw_client(served.endpoints[0]) as client:
        announced = client.ask("ApiVersions", 3, request).api_keys
    assert [row.min_version for row in announced if apis()[row.api_key].name == "CreateTopics"] == [
        oldest
    ]


def test_the_projects_policies_judge_its_clients(serve: Start, here: Path) -> None:
    served = serve(EXAMPLES / "quickstart", "-c", "embedded:")
    with raw_client(served.endpoints[0]) as client:
        refused = create(client, "orders.raw", partitions=500)
        assert refused.error_code == ErrorCode.POLICY_VIOLATION
        assert "500" in refused.error_message
        assert create(client, "orders.few", partitions=6).error_code == 0


def test_the_example_of_the_help_runs(serve: Start, kgitops: Kgitops, here: Path) -> None:
    shutil.copytree(EXAMPLES, here / "examples", ignore=shutil.ignore_patterns(".kgitops"))
    shown = kgitops("serve", "--help").out
    (example,) = [line for line in shown.splitlines() if "Example: " in line]
    words = shlex.split(example.partition("Example: ")[2])
    assert words[:2] == ["kgitops", "serve"]
    assert len(serve(*words[2:]).endpoints) == 3
    assert (here / "examples" / "quickstart" / ".kgitops" / "local.db").is_file()


def test_a_policy_that_cant_be_loaded_is_told_before_anything_listens(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic())
    project.write_file(policies=[{"class": "rules:Names"}])
    write_module(project, "rules", "raise RuntimeError('no rules today')")
    ran = kgitops("serve", project.folder, "--listen", "127.0.0.1:0")
    assert (ran.code, ran.out) == (1, ""), ran.said
    assert "no rules today" in ran.said


WRONG = {
    "a word too much": (("here", "there"), 64, "this is too much"),
    "no such folder": (("nowhere",), 64, "nowhere"),
    "no port": (("-c", "embedded:", "--listen", "127.0.0.1"), 64, "write HOST:PORT"),
    "no host": (("-c", "embedded:", "--listen", ":9092"), 64, "write HOST:PORT"),
    "a URL": (("-c", "embedded:", "--listen", "kafka://127.0.0.1:9092"), 64, "write HOST:PORT"),
    "a port that is none": (("-c", "embedded:", "--listen", "127.0.0.1:70000"), 64, "HOST:PORT"),
    "no brokers": (("-c", "embedded:", "--brokers", "0"), 64, "--brokers"),
    "brokers in words": (("-c", "embedded:", "--brokers", "three"), 64, "whole number"),
    "two numbers of brokers": (
        ("-c", "embedded:?brokers=2", "--brokers", "3"),
        64,
        "embedded:?brokers=2 says brokers=2, but 3 are declared",
    ),
    "an unknown option": (
        ("-c", "embedded:?broker=2"),
        64,
        "kgitops: embedded:?broker=2: 'broker=2' is not understood",
    ),
    "a number of brokers that is none": (
        ("-c", "embedded:?brokers=many"),
        64,
        "kgitops: embedded:?brokers=many: brokers must be a whole number",
    ),
    "a real Kafka": (("-c", "kafka://127.0.0.1:9092"), 64, "only an embedded one can be served"),
    "virtual clusters lowered": (
        ("-c", "embedded:?virtual.clusters=lowered"),
        64,
        "virtual.clusters=lowered",
    ),
    "a cluster nobody declared": (("-c", "prod"), 64, "no cluster is named 'prod'"),
    "a folder for the store": (("-c", "embedded:."), 8, "it is a folder"),
    "an unknown host": (
        ("-c", "embedded:", "--listen", "nowhere.invalid:0", "--allow-anonymous"),
        8,
        "can't listen on",
    ),
    "another machine's address": (
        ("-c", "embedded:", "--listen", "192.0.2.1:0", "--allow-anonymous"),
        8,
        "can't listen on 192.0.2.1:0",
    ),
    "all addresses": (("-c", "embedded:", "--listen", "0.0.0.0:0"), 64, "--allow-anonymous"),
    "all addresses, and none that clients can have": (
        ("-c", "embedded:", "--listen", "0.0.0.0:0", "--allow-anonymous"),
        64,
        "advertised.listeners",
    ),
    "no controllers": (("-c", "embedded:", "--controllers", "0"), 64, "--controllers"),
    "an unknown consistency": (("-c", "embedded:", "--consistency", "all"), 64, "--consistency"),
    "a lag into the future": (("-c", "embedded:", "--lag", "-1"), 64, "--lag"),
    "a port of metrics that is none": (("-c", "embedded:", "--metrics", "x"), 64, "whole number"),
    "no folder for the control socket": (
        ("-c", "embedded:", "--control", "no/such/socket"),
        64,
        "--control no/such/socket: there is no folder",
    ),
    "all addresses of IPv6": (("-c", "embedded:", "--listen", "[::]:0"), 64, "--allow-anonymous"),
    "no folder for the ready file": (
        ("-c", "embedded:", "--ready-file", "no/such/file"),
        64,
        "--ready-file no/such/file: there is no folder",
    ),
    "a folder as the ready file": (
        ("-c", "embedded:", "--ready-file", "."),
        64,
        "--ready-file . is a folder",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_words_are_one_sentence_and_leave_nothing(
    case: str, kgitops: Kgitops, here: Path
) -> None:
    words, code, says = WRONG[case]
    ran = kgitops("serve", *words)
    assert (ran.code, ran.out) == (code, ""), ran.said
    assert says in ran.said
    assert len(ran.err.splitlines()) == 1
    assert list(here.iterdir()) == []


def test_a_store_that_is_none_is_refused(kgitops: Kgitops, here: Path) -> None:
    (here / "notes.txt").write_text("milk\n")
    ran = kgitops("serve", "-c", "embedded:notes.txt")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (8, "", 1), ran.said


def test_a_port_in_use_is_told_and_no_other_listener_stays_open(
    kgitops: Kgitops, here: Path
) -> None:
    port = first_port(2)
    with closing(socket.create_server(("127.0.0.1", port + 1))):
        ran = kgitops("serve", "-c", "embedded:", "--brokers", 2, "--listen", f"127.0.0.1:{port}")
        assert (ran.code, ran.out) == (8, ""), ran.said
        assert f"can't listen on 127.0.0.1:{port + 1}" in ran.said
        assert "choose another address with --listen" in ran.said
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_store_is_served_once(kgitops: Kgitops, here: Path) -> None:
    (here / "same.db").symlink_to(here / "local.db")
    with served_alone(here / "local.db"):
        ran = kgitops("serve", "-c", "embedded:same.db", "--listen", "127.0.0.1:0")
    assert (ran.code, ran.out) == (7, ""), ran.said
    assert "is served by another process already" in ran.said


def test_other_commands_use_the_store_meanwhile(
    serve: Start, project: Project, kgitops: Kgitops
) -> None:
    served = serve("-c", "embedded:shared.db")
    project.write(topic())
    assert kgitops("apply", project.folder, "-c", "embedded:shared.db", "--auto-approve").code == 0
    with raw_client(served.endpoints[0]) as client:
        assert "orders" in topic_names(client)


def test_it_starts_without_what_only_clients_need(here: Path) -> None:
    """And answers its first request, in memory of some tens of megabytes."""
    script = """
import os, signal, sys, threading
from pathlib import Path
from kgitops.cli.main import main
def watch():
    while not Path("ready").exists() and not done.wait(0.01):
        pass
    import socket
    host, _, port = Path("ready").read_text().split("//")[1].split(",")[0].strip().rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        body = b"\\0\\x12\\0\\0\\0\\0\\0\\1\\0\\1a"
        connection.sendall(len(body).to_bytes(4, "big") + body)
        assert connection.recv(4)
    os.kill(os.getpid(), signal.SIGTERM)
done = threading.Event()
threading.Thread(target=watch, daemon=True).start()
code = main(["serve", "-c", "embedded:", "--listen", "127.0.0.1:0", "--ready-file", "ready"])
done.set()
print(sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    imported = set(json.loads(done.stderr.splitlines()[-1].replace("'", '"')))
    assert imported.isdisjoint({"kio", "hypothesis", "kafka", "confluent_kafka", "rich", "cel"})


def test_it_stays_small(serve: Start) -> None:
    """A wide bound; benchmarks/serve.py has the figures."""
    served = serve("-c", "embedded:")
    with raw_client(served.endpoints[0]) as client:
        client.ask("ApiVersions", 3)
    status = Path(f"/proc/{served.process.pid}/status")
    if status.exists():
        kilobytes = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        assert kilobytes
        assert int(kilobytes[1]) < 100_000
