"""Rounds of users: each makes one, removes one, adds and removes mechanisms, renews passwords."""

import secrets
from contextlib import closing
from pathlib import Path

from patience import eventually
from real_kafka.logins import described_users, held_mechanisms
from real_kafka.recorded_project import Logins, RecordedProject

from kgitops.apply.journal.reading import latest_values, unfinished_runs
from kgitops.cluster.connect import connect

UID = "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def new_password(name: str) -> str:
    return f"{name}-{secrets.token_hex(8)}"


def user(name: str, **mechanisms: str) -> str:
    scram = ", ".join(
        f"{{mechanism: SCRAM-{kind.replace('_', '-')}, iterations: 4096, {password}}}"
        for kind, password in mechanisms.items()
    )
    return (
        "apiVersion: kgitops/v1\nkind: User\n"
        f"metadata: {{name: {name}}}\nspec: {{scram: [{scram}], deletionPolicy: Delete}}\n"
    )


class Rounds:
    """The users of one round after the other, and the logins that must and must not work then."""

    def __init__(self, project: RecordedProject) -> None:
        self.project = project
        self.number = -1
        self.held: dict[tuple[str, str], str] = {}
        self.past: dict[tuple[str, str], str] = {}
        self._constant = project.search_for("the constant password", new_password("constant"))
        project.environ["CONSTANT"] = self._constant
        program = project.folder / "store"
        program.write_text('#!/bin/sh\nexec cat > "$1"\n')
        program.chmod(0o700)

    def next(self) -> None:
        """Declare the next round, with new passwords in the environment."""
        self.number += 1
        number, project = self.number, self.project
        for name in ("made", "renewed", "renewed_512", "added"):
            password = project.search_for(
                f"the {name} password of round {number}", new_password(name)
            )
            project.environ[name.upper()] = password
        constant = "password: {env: CONSTANT}"
        added = {"SHA_256": constant, "SHA_512": "password: {env: ADDED}"}
        version = f"version: v{number}"
        into = "password: {generate: {to: "
        project.declare(
            made=user(f"made-{number}", SHA_256="password: {env: MADE}"),
            renewed=user(
                "renewed",
                SHA_256=f"password: {{env: RENEWED}}, {version}",
                SHA_512=f"password: {{env: RENEWED_512}}, {version}",
            ),
            even=user("even", **(added if number % 2 == 0 else {"SHA_256": constant})),
            odd=user("odd", **(added if number % 2 == 1 else {"SHA_256": constant})),
            to_file=user("to-file", SHA_512=f"{into}{{file: ../sinks/to-file}}}}}}, {version}"),
            to_program=user(
                "to-program",
                SHA_256=f"{into}{{command: [./store, ../sinks/to-program]}}}}}}, {version}",
            ),
        )

    def done(self) -> None:
        """Note the passwords that hold now, and those that held before."""
        number, environ = self.number, self.project.environ
        held = {
            (f"made-{number}", SHA_256): environ["MADE"],
            ("renewed", SHA_256): environ["RENEWED"],
            ("renewed", SHA_512): environ["RENEWED_512"],
            ("even", SHA_256): self._constant,
            ("odd", SHA_256): self._constant,
            ("odd" if number % 2 else "even", SHA_512): environ["ADDED"],
            ("to-file", SHA_512): self.sink("to-file"),
            ("to-program", SHA_256): self.sink("to-program"),
        }
        self.past, self.held = self.held, held

    def sink(self, name: str) -> str:
        password = (self.project.sinks / name).read_text()
        return self.project.search_for(f"the {name} password of round {self.number}", password)

    def logins(self) -> Logins:
        """What logs in now: the new passwords do, those of before and those taken away do not."""
        expected = {
            (name, kind, password): self.held.get((name, kind)) == password
            for (name, kind), password in self.past.items()
        }
        expected |= {(name, kind, password): True for (name, kind), password in self.held.items()}
        return expected

    def check(self, where: object, *, by_tool: bool = False) -> None:
        """By what brokers hold, by logging in, by the registry, and by the next plan."""
        self.done()
        wanted: dict[str, dict[str, int]] = {}
        for name, kind in self.held:
            wanted.setdefault(name, {})[kind] = 4096
        ended = self.project.run("plan", "--detailed-exitcode")
        assert ended.code == 0, (where, self.project.last_output())
        self.check_logins(where)
        self.check_registry(wanted, where)
        users = (described_users if by_tool else held_mechanisms)(self.project.kafka)
        assert set(users.pop("admin")) == {SHA_256, SHA_512}
        assert users == wanted, where
        assert {file.name for file in self.project.sinks.iterdir()} == {"to-file", "to-program"}

    def check_logins(self, where: object) -> None:
        """Brokers learn of a password one after the other."""
        eventually(
            lambda: self.project.wrong_logins(self.logins()),
            lambda wrong: not wrong,
            what=f"only the right passwords log in ({where})",
        )

    def check_registry(self, wanted: dict[str, dict[str, int]], where: object) -> None:
        servers = self.project.kafka.layout.servers("SASL_SSL")
        configs = self.project.kafka.layout.client_configs("SASL_SSL")
        with closing(connect(f"kafka://{servers}", configs=configs, base=Path())) as cluster:
            latest = latest_values(cluster.registry.read() or ())
            registry = cluster.read_state(frozenset()).registry
        assert registry is not None
        assert not unfinished_runs(latest, [UID]), where
        assert not [key for key in latest if key.startswith("lock/")], where
        owned = {
            owner.last_applied["name"]: set(owner.last_applied["scram"])
            for owner in registry.owners.values()
            if not owner.spent
        }
        assert owned == {name: set(kinds) for name, kinds in wanted.items()}, where
