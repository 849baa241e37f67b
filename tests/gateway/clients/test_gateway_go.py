"""The clients of Go in a virtual cluster, by local names: sarama and franz-go."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.matrix import check
from gateway.clients.member import member
from gateway.clients.tenants import Tenant
from serve.clients.downloads import go_program
from serve.clients.reports import run

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

GO = Path(__file__).parent / "go"
PROGRAMS = {"sarama": "sarama", "franz-go": "franz"}


@pytest.mark.parametrize("client", PROGRAMS)
def test_go(client: str, entrance: Entrance, tenants: Mapping[str, Tenant], tmp_path: Path) -> None:
    program = go_program(PROGRAMS[client], tmp_path, GO)
    check(client, run([program, member(entrance, tenants, client).told()]), entrance)
