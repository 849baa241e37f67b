"""Passwords of users on three real brokers: an apply is killed at every step, and nothing leaks.

Each round makes a user, removes one, adds and removes mechanisms, renews passwords, and generates
two. A process that applies the round is killed at its next boundary (recorded_commands.py);
`--resume`, or an apply where nothing was begun, ends it. Afterwards every byte that kgitops wrote
is searched for the passwords and for all that follows from them.
"""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest
from kafka_clusters import StartKafka
from patience import eventually
from real_kafka.recorded_project import METADATA, PATIENCE_S, RecordedProject
from real_kafka.user_rounds import SHA_256, SHA_512, Rounds, new_password
from secret_search import SecretSearch, layers

from kgitops.model.verdict import ExitCode

BOUNDARIES = frozenset(
    f"{when} {what}"
    for when in ("before", "after")
    for what in (
        "append", "fencing", "unfencing", "request",
        "password's file", "sync of it", "password's program",
    )
)  # fmt: skip
FORMATS = ("text", "json", "markdown", "html", "sarif", "junit", "github")
MUTANTS = {
    "hash in an event": "sha256 of the ",
    "salted password in an event": "salted password of ",
    "password in the log": "the ",
    "password in the journal": "the ",
    "salt in the journal": "salt of ",
}
"""What each tells of passwords (user_mutants.py)."""


@pytest.fixture(scope="module")
def project(
    own_kafka: StartKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RecordedProject]:
    administrator = new_password("administrator")
    kafka = own_kafka(brokers=3, sasl=True, tls=True, users={"admin": administrator})
    made = RecordedProject(kafka, tmp_path_factory.mktemp("users"), administrator)
    yield made
    made.close()


@pytest.fixture(scope="module")
def rounds(project: RecordedProject) -> Rounds:
    """With one round done, so that the next one finds something to change of each."""
    made = Rounds(project)
    made.next()
    project.ok("apply", "--auto-approve")
    made.check("the first round", by_tool=True)
    return made


class Pace:
    """The lease and the timeout of killed runs, for which the next one waits: as short as works."""

    def __init__(self) -> None:
        self.lease_ms, self.timeout_ms = 1_200, 800

    def slower(self) -> None:
        self.lease_ms, self.timeout_ms = 2 * self.lease_ms, 2 * self.timeout_ms
        assert self.timeout_ms < 60_000


def test_an_apply_killed_at_every_boundary_is_ended_with_the_new_passwords(
    project: RecordedProject, rounds: Rounds
) -> None:
    killed_at: list[str] = []
    resumed, pace = 0, Pace()
    words = ("apply", "--auto-approve", "--parallelism", "1", "--format", "json")
    while True:
        rounds.next()
        ended = project.run(
            *words, boundary=len(killed_at), lease_ms=pace.lease_ms, timeout_ms=pace.timeout_ms
        )
        died = time.monotonic()
        if ended.code == 0:
            rounds.check("the last round", by_tool=True)
            break
        nobody_is_locked_out(project, rounds, ended.passed[-1])
        time.sleep(max(0.0, died + pace.lease_ms / 1000 - time.monotonic()))
        if ended.killed:
            assert len(ended.passed) == len(killed_at) + 1
            killed_at.append(ended.passed[-1])
            resumed += end(project, timeout_ms=pace.timeout_ms)
        else:  # the lease was too short for this machine: the same boundary again
            assert ended.code in (ExitCode.LOCKED, ExitCode.PARTIAL), project.last_output()
            pace.slower()
            end(project, timeout_ms=pace.timeout_ms)
        rounds.check((len(killed_at), ended.passed[-1]))
    assert set(killed_at) == BOUNDARIES
    assert len(killed_at) > 30
    assert resumed > 15, "the first ones have begun nothing, the last ones had written the end"


def nobody_is_locked_out(project: RecordedProject, rounds: Rounds, where: str) -> None:
    """Before anything is ended: for a user who stays, the old password or the new one logs in."""
    for kind, name in ((SHA_256, "RENEWED"), (SHA_512, "RENEWED_512")):
        passwords = (rounds.held["renewed", kind], project.environ[name])
        logins = {("renewed", kind, password): True for password in passwords}
        eventually(  # brokers learn it one after the other
            partial(project.wrong_logins, logins), lambda wrong: len(wrong) == 1, what=where
        )


def end(project: RecordedProject, **settings: int) -> bool:
    """As the guide says: resume, and apply where nothing was begun. True if it was resumed."""
    ended = eventually(
        lambda: project.run("apply", "--resume", "--allow-secret-commands", **settings),
        lambda ended: ended.code not in (ExitCode.LOCKED, ExitCode.PARTIAL),
        what="the lock is free, and all is resumed",
    )
    assert ended.code == 0, project.last_output()
    resumed = "Nothing to resume" not in project.last_output()
    if not resumed and project.run("plan", "--detailed-exitcode").code == 2:
        project.ok("apply", "--auto-approve", **settings)
    return resumed


def test_a_resume_that_leaves_a_user_out_is_noticed(
    project: RecordedProject, rounds: Rounds
) -> None:
    """A password that was not set: plans are clean, and only the logins tell."""
    rounds.next()
    ended = project.run("apply", "--auto-approve", mutant="bug while sending")
    assert ended.code == ExitCode.PARTIAL, project.last_output()
    ended = project.run("apply", "--resume", "--allow-secret-commands", mutant="one user left out")
    assert ended.code == 0, project.last_output()
    rounds.done()
    project.ok("plan", "--detailed-exitcode")
    assert project.run("drift", "--verify-users", "--detailed-exitcode").code == 2
    wrong = project.wrong_logins(rounds.logins())
    assert len([line for line in wrong if line.startswith("renewed by ")]) == 4, wrong
    rounds.next()  # whatever test comes next finds the passwords that the round says
    project.ok("apply", "--auto-approve")
    rounds.check("the passwords are set again")


def test_nothing_that_is_written_or_printed_tells_of_a_password(
    project: RecordedProject, rounds: Rounds
) -> None:
    """Of all runs of this module; then the same search finds what mutants of kgitops tell."""
    commands_write_and_print(project, rounds)
    a_loop_applies_leaves_a_plan_and_notifies(project, rounds)
    rounds.check("after the loop")

    search, written = project.search(), project.written()
    assert search.found_in(written) == []
    everything = b"".join(layer for name in written for _, layer in layers(name, written[name]))
    for expected in (
        b"user/renewed", b"AlterUserScramCredentials", b"kgitops_pending_changes", b"<!doctype",
        b'"type": "step_done"', b"INFO kafka.", b"specversion", b"KG312", b"run/", b"nonce/",
    ):  # fmt: skip
        assert expected in everything, expected
    segments = {Path(name).name for name in written if "__kgitops-0" in name}
    assert segments == {"00000000000000000000.log"}, "nothing was compacted away"
    what_brokers_and_sinks_hold_is_found(project, rounds, search)

    for mutant, told in MUTANTS.items():
        rounds.next()
        ended = project.run("apply", "--auto-approve", "--format", "json", mutant=mutant)
        assert ended.code == 0, project.last_output()
        rounds.done()
        before, written = written, project.written()
        new = {name: content for name, content in written.items() if before.get(name) != content}
        found = project.search().found_in(new)
        assert any(line.startswith(told) for line in found), (mutant, found)


def what_brokers_and_sinks_hold_is_found(
    project: RecordedProject, rounds: Rounds, search: SecretSearch
) -> None:
    """Salts and keys in the metadata log, passwords in the sinks: they are what was looked for."""
    found = search.found_in(project.of_brokers(METADATA))
    for what in ("salt", "stored key", "server key"):
        for name, kind in rounds.held:
            assert any(line.startswith(f"{what} of {name}'s {kind}") for line in found), found
    assert not [line for line in found if line.startswith(("salted", "client", "sha", "the "))]
    for file in project.sinks.iterdir():
        assert search.found_in({"sink": file.read_bytes()})


def commands_write_and_print(project: RecordedProject, rounds: Rounds) -> None:
    """All commands that have to do with users, with a plan that changes each kind of thing."""
    rounds.next()
    for form in FORMATS:
        project.ok("plan", "--full", "--format", form)
    project.ok("plan", "-o", "plan.json")
    project.ok("show", "plan.json", "--format", "html")
    environ = dict(project.environ)
    project.environ["MADE"] = ""
    assert project.run("apply", "plan.json", "--allow-secret-commands").code == ExitCode.ERROR
    assert project.run("--debug", "apply", "plan.json").code == ExitCode.REFUSED
    project.environ.update(environ)
    project.ok("apply", "plan.json", "--allow-secret-commands", "--format", "json")
    rounds.check("by a saved plan")
    rounds.next()
    ended = project.run("--debug", "apply", "--auto-approve", mutant="bug while sending")
    assert ended.code == ExitCode.PARTIAL
    assert "SaltedPassword(hidden)" in project.last_output()
    assert end(project)
    rounds.check("after a bug")
    environ = dict(project.environ)
    project.ok("drift", "--verify-users", "--detailed-exitcode")
    project.environ["RENEWED"] = project.search_for("a wrong password", new_password("wrong"))
    assert project.run("drift", "--verify-users", "--detailed-exitcode").code == 2
    project.environ.update(environ)
    project.ok("drift", "--format", "json")
    project.ok("explain", "user/renewed")
    project.ok("snapshot", "--users", "-o", "state.json")
    project.ok("diff", "state.json", "state.json")
    project.ok("export", "-o", "exported")
    project.ok("catalogue", "-o", "page")
    project.ok("validate")
    project.ok("registry", "check")


def a_loop_applies_leaves_a_plan_and_notifies(project: RecordedProject, rounds: Rounds) -> None:
    """A new user is made by the loop itself; a new password waits for somebody."""
    rounds.next()
    with webhook(project) as notified:
        loop = project.start(
            "reconcile", "--interval", "1h", "--plans", "plans", "--format", "json",
            "--listen", "127.0.0.1:0",
        )  # fmt: skip
        try:
            url = project.await_line("err", "http://127.0.0.1:").split()[-1]
            assert project.await_line("out", '"type": "turn"')
            pages = {name: fetched(f"{url}/{name}") for name in ("status", "metrics", "")}
            (unit,) = json.loads(pages["status"])["units"]
            digest = unit["pending"]["digest"]
            pages["plan"] = fetched(f"{url}/plans/{digest.removeprefix('sha256:')}")
            eventually(lambda: notified, lambda bodies: len(bodies) >= 2, what="two notifications")
        finally:
            loop.send_signal(signal.SIGTERM)
            loop.wait(PATIENCE_S)
    assert any(b"pending" in body for body in notified), notified
    for name, body in (*pages.items(), *((str(n), body) for n, body in enumerate(notified))):
        project.keep(f"http-{name}", body)
    project.ok(
        "apply", unit["pending"]["path"], "--expect-digest", digest, "--allow-secret-commands"
    )


def fetched(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:  # noqa: S310 (http)
        return bytes(answer.read())


@contextmanager
def webhook(project: RecordedProject) -> Iterator[list[bytes]]:
    """The chat of the project: it keeps every request that it gets, with its headers."""
    notified: list[bytes] = []

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            notified.append(bytes(self.headers) + body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        project.environ["CHAT_URL"] = f"http://127.0.0.1:{server.server_port}/"
        yield notified
        server.shutdown()
