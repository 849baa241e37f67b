"""The control socket: what it refuses. What it does is in the tests of what it is for."""

import socket
import stat
from pathlib import Path

import pytest
from serve.served import served

from kgitops.cluster.embedded.boot import boot
from kgitops.model.errors import UnreachableError
from kgitops.serve.background import serving


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"do": "dance"}, "there is no command dance"),
        ({"do": "lag", "broker": 9}, "there is no broker 9; the brokers are 1, 2, 3"),
        ({"do": "move-controller", "controller": 1}, "there is no controller 1"),
        ({"do": "stop"}, "stop needs a node"),
        ({"do": "stop", "node": 77}, "there is no node 77"),
        ({"do": "hold", "brokre": 1}, "unknown field"),
    ],
)
def test_a_command_that_can_not_be_done_is_told_so(
    command: dict[str, object], problem: str
) -> None:
    with served() as brokers:
        answer = brokers.tell(**command)  # type: ignore[arg-type]
        assert answer["ok"] is False
        assert problem in str(answer["error"])


def test_a_controller_that_is_down_can_not_become_active() -> None:
    with served(controllers=2) as brokers:
        brokers.done("stop", node=3001)
        answer = brokers.tell("move-controller", controller=3001)
        assert "controller 3001 is down" in str(answer["error"])


def test_lines_that_are_no_json() -> None:
    with served() as brokers, socket.socket(socket.AF_UNIX) as control:
        control.connect(str(brokers.control))
        control.sendall(b"hold\n")
        assert b'"ok":false' in control.recv(1000)


def test_only_its_owner_can_use_it() -> None:
    with served() as brokers:
        assert stat.S_IMODE(brokers.control.stat().st_mode) == 0o600


def test_a_file_that_can_not_be_made_is_one_sentence(tmp_path: Path) -> None:
    cluster = boot(None, brokers=1)
    with (
        pytest.raises(UnreachableError, match="can't open the control socket"),
        serving(cluster, control=tmp_path / "absent" / "c"),
    ):
        pass
    cluster.close()
