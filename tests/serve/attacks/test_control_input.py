"""The control socket: its file is its owner's alone, and bad input is answered."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from serve.served import ServedCluster, cluster_of, served

from kgitops.model.errors import UnreachableError
from kgitops.serve.background import serving

BAD = {
    b"\xff\xfe": "",
    b"hold": "",
    b"[" * 30_000: "",
    b'{"do": ' * 8_000: "",
    b'{"do": "lag", "ms": 1e999}': "",
    b'{"do": "lag", "ms": ' + b"9" * 4000 + b"}": "",
    b'{"do": "lag", "ms": -1}': "",
    b'{"do": "lag", "ms": NaN}': "",
    b'{"do": "lag", "other": 1}': "unknown field",
    b'{"do": "lag", "broker": 9}': "there is no broker 9; the brokers are 1, 2, 3",
    b'{"do": "stop", "node": ' + b"9" * 30 + b"}": "",
    b'{"do": "stop", "node": 77}': "there is no node 77",
    b'{"do": "stop"}': "stop needs a node",
    b'{"do": "move-controller", "controller": 1}': "there is no controller 1",
    b'{"do": "dance"}': "there is no command dance",
    b'{"do": "\\u001b[2J"}': "",
    b"null": "",
}
"""Lines, and what the answers say."""


@pytest.fixture(scope="module")
def brokers() -> Iterator[ServedCluster]:
    with served() as started:
        yield started


def test_only_its_owner_can_open_it(tmp_path: Path) -> None:
    """Whatever the umask; whoever can open it may do everything."""
    path = tmp_path / "control"
    with serving(cluster_of(), control=path):
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not path.exists()


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_bad_input_is_answered(brokers: ServedCluster, line: bytes) -> None:
    """By one line with the problem; the next command is done, and clients are served."""
    told, status = brokers.tell_lines(line + b'\n{"do": "status"}\n')
    assert (told["ok"], bool(told["error"])) == (False, True)
    assert BAD[line] in str(told["error"])
    assert status["ok"]
    with brokers.client() as client:
        assert client.ask("Metadata", 12).brokers


def test_a_controller_that_is_down_can_not_become_active() -> None:
    with served(controllers=2) as brokers:
        brokers.done("stop", node=3001)
        answer = brokers.tell("move-controller", controller=3001)
        assert "controller 3001 is down" in str(answer["error"])


def test_a_file_that_can_not_be_made_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(UnreachableError, match="can't open the control socket"),
        serving(cluster_of(), control=tmp_path / "absent" / "c"),
    ):
        pass
