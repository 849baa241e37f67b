"""A project with users on real brokers: its commands run in processes of their own.

``RecordedProject`` keeps all that kgitops wrote and printed, on the brokers too, and every
password, so that a test can search the one for the other.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from patience import eventually
from real_kafka.logins import logs_in
from real_kafka.recorded_commands import Command, Ended, MadePassword, read_secrets
from secret_search import SecretSearch

from kgitops.model.resources.users import ScramMechanism
from kgitops.sandbox.sandbox import Sandbox

TESTS = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("recorded_commands.py")
PATIENCE_S = 120
REGISTRY, METADATA = "__kgitops-0", "__cluster_metadata-0"
Logins = dict[tuple[str, str, str], bool]
"""Whether a user logs in by a mechanism with a password."""
PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {{name: payments, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}}
spec:
  manifests: [manifests]
  clusters:
    real:
      url: "kafka://{servers}"
      configs:
        security.protocol: SASL_SSL
        ssl.ca.location: {authority}
        sasl.mechanism: SCRAM-SHA-512
        sasl.username: admin
        sasl.password: "${{env:KAFKA_PASSWORD}}"
"""
RECONCILED = (
    PROJECT
    + """\
  reconcile:
    mode: converge
    notifications:
      - name: chat
        webhook: {{url: {{env: CHAT_URL}}}}
"""
)


class RecordedProject:
    """The project, the processes that run its commands, and what came of each.

    ``sinks`` is where generated passwords go; nothing else may hold one.
    """

    def __init__(self, kafka: Sandbox, home: Path, administrator: str) -> None:
        self.kafka = kafka
        self.folder = home / "payments"
        self.sinks = home / "sinks"
        self._output = home / "output"
        self._elsewhere = home / "elsewhere"
        self._secrets = home / "secrets"
        for folder in (self.folder / "manifests", self.sinks, self._output, self._elsewhere):
            folder.mkdir(parents=True)
        authority = kafka.layout.client_configs("SASL_SSL")["ssl.ca.location"]
        servers = kafka.layout.servers("SASL_SSL")
        (self.folder / "kgitops.yaml").write_text(
            RECONCILED.format(servers=servers, authority=authority)
        )
        self.environ = {"KAFKA_PASSWORD": administrator, "CHAT_URL": "http://127.0.0.1:9/"}
        self.passwords = {administrator: "the administrator's password"}
        self._commands = 0
        self._process = subprocess.Popen(
            [sys.executable, SCRIPT],
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE_S)

    def search_for(self, name: str, password: str) -> str:
        """A password that must be found nowhere."""
        assert len(password) >= 12
        self.passwords[password] = name
        return password

    def declare(self, **documents: str) -> None:
        """Let the project consist of these documents."""
        for file in (self.folder / "manifests").iterdir():
            file.unlink()
        for name, text in documents.items():
            (self.folder / "manifests" / f"{name}.yaml").write_text(text)

    def run(
        self,
        *words: str,
        boundary: int | None = None,
        mutant: str | None = None,
        **settings: int,
    ) -> Ended:
        """Run a command to its end, or until it is killed at its boundary of this number."""
        command = Command(
            words=["--log-level", "debug", *words],
            folder=str(self.folder),
            output=str(self._next_output(words)),
            environ=self.environ,
            secrets=str(self._secrets),
            boundary=boundary,
            mutant=mutant,
            settings=settings,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(msgspec.json.encode(command) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Ended)

    def ok(self, *words: str, **settings: int) -> None:
        """Run a command that must succeed."""
        ended = self.run(*words, **settings)
        assert ended.code == 0, (words, self.last_output())

    def last_output(self) -> str:
        """What the last command printed."""
        files = sorted(self._output.glob(f"{self._commands:04}-*.*"))
        return "\n".join(file.read_text(errors="replace") for file in files)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command that goes on until it is stopped."""
        output = self._next_output(words)
        with Path(f"{output}.out").open("wb") as out, Path(f"{output}.err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, SCRIPT, self._secrets, "--log-level", "debug", *words],
                cwd=self.folder,
                env={**self._environment(), **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def await_line(self, kind: str, text: str) -> str:
        """Wait until the last command has printed this; the line that it is in."""
        files = {file.suffix: file for file in self._output.glob(f"{self._commands:04}-*.*")}
        printed = eventually(
            lambda: {suffix: file.read_text() for suffix, file in files.items()},
            lambda found: text in found[f".{kind}"],
            what=f"{text!r} is printed",
        )
        return next(line for line in printed[f".{kind}"].splitlines() if text in line)

    def keep(self, name: str, content: bytes) -> None:
        """Something that kgitops told otherwise, to be searched too."""
        (self._output / name).write_bytes(content)

    def wrong_logins(self, expected: Logins) -> list[str]:
        """The logins whose outcome is another one than expected."""
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda login: logs_in(self.kafka, *login), expected)
        return [
            f"{user} by {mechanism} with {self.passwords[password]}: {does}"
            for ((user, mechanism, password), wanted), does in zip(
                expected.items(), found, strict=True
            )
            if does is not wanted
        ]

    def search(self) -> SecretSearch:
        """Every password, generated ones too, and the salts with which they were sent."""
        search = SecretSearch()
        for password, name in self.passwords.items():
            search.add_password(name, password.encode())
        for number, secret in enumerate(read_secrets(self._secrets)):
            if isinstance(secret, MadePassword):
                search.add_password(f"the generated password {number}", secret.password.encode())
                continue
            name = f"{secret.user}'s {secret.mechanism}, sent as number {number}"
            kind = ScramMechanism(secret.mechanism).hash_name
            search.add_salted(name, kind, bytes.fromhex(secret.salt), bytes.fromhex(secret.salted))
        return search

    def written(self) -> dict[str, bytes]:
        """Every byte that kgitops wrote or printed, by where it is; only the sinks are left out."""
        files = {
            f"{folder.name}/{file.relative_to(folder)}": file.read_bytes()
            for folder in (self.folder, self._output, self._elsewhere)
            for file in folder.rglob("*")
            if file.is_file()
        }
        return files | self.of_brokers(REGISTRY)

    def of_brokers(self, partition: str) -> dict[str, bytes]:
        """The raw files of this partition on every broker."""
        found = {
            str(file.relative_to(self.kafka.home)): file.read_bytes()
            for file in self.kafka.home.glob(f"broker-*/data/{partition}/*.log*")
        }
        assert len(found) >= len(self.kafka.broker_ids)
        return found

    def _next_output(self, words: tuple[str, ...]) -> Path:
        self._commands += 1
        names = "-".join(word for word in words[:2] if word.isalpha())
        return self._output / f"{self._commands:04}-{names}"

    def _environment(self) -> dict[str, str]:
        elsewhere = str(self._elsewhere)
        folders = dict.fromkeys(
            ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), elsewhere
        )
        return {**os.environ, **folders, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
