"""The clients of Go: sarama and franz-go."""

from pathlib import Path

import pytest
from serve.clients.downloads import go_program
from serve.clients.reports import check, run

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("serve-go")]


@pytest.mark.parametrize("client", ["sarama", "franz"])
def test_go(client: str, servers: str, tmp_path: Path) -> None:
    label = {"sarama": "sarama", "franz": "franz-go"}[client]
    check(label, run([go_program(client, tmp_path), servers]))
