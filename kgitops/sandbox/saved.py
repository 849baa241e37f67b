"""What ``kgitops sandbox start`` leaves for the commands after it: ``sandbox.json``."""

import json
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.broker.layout import Layout
from kgitops.sandbox.jvm.jvm import Jvm
from kgitops.sandbox.running import Sandbox


def save(sandbox: Sandbox) -> None:
    """Write down what is needed to find the sandbox again."""
    ports = {str(id_): dict(ports) for id_, ports in sandbox.layout.ports.items()}
    jvm = {"java": str(sandbox.jvm.java), "libs": str(sandbox.jvm.libs)}
    kept = {"ports": ports, "users": dict(sandbox.layout.users), **jvm}
    file = _file(sandbox.home)
    file.touch(mode=0o600)
    file.write_text(json.dumps(kept, indent=2) + "\n")


def load(home: Path) -> Sandbox | None:
    """The sandbox whose files are in ``home``, running or not; None where there is none.

    Raises:
        KgitopsError: the file is broken.
    """
    file = _file(home)
    try:
        kept = json.loads(file.read_text())
        ports = {int(id_): dict(ports) for id_, ports in kept["ports"].items()}
        layout = Layout(ports=ports, users=dict(kept["users"]))
        java, libs = Path(kept["java"]), Path(kept["libs"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KgitopsError(
            f"{file} can't be read ({type(error).__name__}: {error}); kill the processes whose "
            f"numbers are in {home}/broker-*/pid, and delete {home}"
        ) from error
    log4j2 = home / "log4j2.properties"
    return Sandbox(home, layout, Jvm(java=java, libs=libs, log4j2=log4j2))


def _file(home: Path) -> Path:
    return home / "sandbox.json"
