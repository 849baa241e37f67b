"""The control socket: its file is its owner's alone, and bad input is answered."""

import json
import socket
import stat
from pathlib import Path

import pytest
from serve.raw_client import raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.background import serving

BAD = [
    b"\xff\xfe",
    b"[" * 30_000,
    b'{"do": ' * 8_000,
    b'{"do": "lag", "ms": 1e999}',
    b'{"do": "lag", "ms": ' + b"9" * 4000 + b"}",
    b'{"do": "lag", "ms": -1}',
    b'{"do": "lag", "ms": NaN}',
    b'{"do": "lag", "other": 1}',
    b'{"do": "stop", "node": ' + b"9" * 30 + b"}",
    b'{"do": "stop"}',
    b'{"do": "\\u001b[2J"}',
    b"null",
]


def test_only_its_owner_can_open_it(embedded: EmbeddedCluster, tmp_path: Path) -> None:
    """Whatever the umask; whoever can open it may do everything."""
    path = tmp_path / "control"
    with serving(embedded, control=path):
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not path.exists()


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_bad_input_is_answered(embedded: EmbeddedCluster, tmp_path: Path, line: bytes) -> None:
    """By one line with the problem; the next command is done, and clients are served."""
    path = tmp_path / "control"
    with serving(embedded, control=path) as server, socket.socket(socket.AF_UNIX) as control:
        control.settimeout(30)
        control.connect(str(path))
        control.sendall(line + b'\n{"do": "status"}\n')
        answers = control.makefile()
        told = json.loads(answers.readline())
        assert (told["ok"], bool(told["error"])) == (False, True)
        assert json.loads(answers.readline())["ok"]
        with raw_client(server.endpoints[0]) as client:
            assert client.ask("Metadata", 12).brokers
