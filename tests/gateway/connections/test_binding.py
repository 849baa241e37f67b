"""The virtual cluster of a connection, and what becomes of it when the tables change."""

import asyncio

from gateway.connections.stand_ins import (
    FORWARDED,
    StandInBroker,
    StandInRewriter,
    StandInTables,
    echo,
    request,
    running,
    tables_of,
)

from kgitops.gateway.settings import Entrance
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.virtual_clusters.image import build_image


def bound(virtual_cluster: str | None, port: int = 0) -> Entrance:
    return Entrance(
        host="127.0.0.1",
        port=port,
        advertised_host="127.0.0.1",
        virtual_cluster=virtual_cluster,
    )


def places() -> list[str | None]:
    return [table.virtual_cluster if table else None for table in StandInRewriter.tables]


async def test_a_client_that_is_no_member_is_in_none() -> None:
    tables = StandInTables(tables_of(sales=("User:alice",)))
    async with running(StandInBroker(), tables=tables) as run:
        client = await run.connect()
        await client.ask(FORWARDED, 1)
        assert places() == [None]


async def test_everybody_at_a_bound_listener_is_in_its_virtual_cluster() -> None:
    tables = StandInTables(tables_of(sales=(), audit=()))
    entrances = (bound("sales"), bound("audit"))
    async with running(StandInBroker(), tables=tables, entrances=entrances) as run:
        ports = [listener.port for listener in run.gateway._listeners]
        for port in ports:
            client = await run.connect(port)
            await client.ask(FORWARDED, 1)
        assert places() == ["sales", "audit"]


async def test_a_member_of_another_virtual_cluster_is_refused_at_a_bound_listener() -> None:
    tables = StandInTables(tables_of(sales=(), audit=("User:ANONYMOUS",)))
    async with running(StandInBroker(), tables=tables, entrances=(bound("sales"),)) as run:
        refusal = await run.refused(request(FORWARDED, 1))
        assert refusal["reason"] == "virtual-cluster"
        assert "is a member of virtual cluster audit" in str(refusal["sentence"])
        assert run.brokers[0].frames == []


async def test_a_listener_for_a_virtual_cluster_that_is_not_there_refuses_all() -> None:
    async with running(StandInBroker(), entrances=(bound("sales"),)) as run:
        refusal = await run.refused(request(FORWARDED, 1))
        assert "which does not exist" in str(refusal["sentence"])
        run.tables.tables = tables_of(2, sales=())
        client = await run.connect()
        await client.ask(FORWARDED, 1)
        assert places() == ["sales"]


async def test_a_connection_never_changes_its_virtual_cluster_by_another_client_id() -> None:
    image = build_image(
        VirtualCluster(name=name, client_ids=frozenset([f"{name}-app"]))
        for name in ("sales", "audit")
    )
    both = tables_of(sales=(), audit=())
    tables = StandInTables(
        type(both)(version=1, offset=1, image=image, by_virtual_cluster=both.by_virtual_cluster)
    )

    async with running(StandInBroker(), tables=tables) as run:
        client = await run.connect()
        await client.ask(FORWARDED, 1, client_id="sales-app")
        client.send(request(FORWARDED, 2, client_id="audit-app"))
        assert await client.rest() == b""
        assert places() == ["sales"]
        assert run.refusals[0]["reason"] == "virtual-cluster"


async def test_a_moved_member_loses_its_connections_and_others_keep_theirs() -> None:
    tables = StandInTables(tables_of(sales=("User:ANONYMOUS",), audit=()))
    async with running(StandInBroker(), tables=tables) as run:
        client, silent = await run.connect(), await run.connect()
        await client.ask(FORWARDED, 1)
        run.tables.tables = tables_of(2, sales=("User:ANONYMOUS", "User:eve"), audit=())
        run.gateway.connections.check_members()
        await client.ask(FORWARDED, 2)
        run.tables.tables = tables_of(3, sales=(), audit=("User:ANONYMOUS",))
        run.gateway.connections.check_members()
        assert await client.rest() == b""
        (refusal,) = run.refusals
        sentence = str(refusal["sentence"])
        assert "was in virtual cluster sales" in sentence
        assert "in virtual cluster audit now" in sentence
        await silent.ask(FORWARDED, 3)
        assert places() == ["sales", "sales", "audit"]


async def test_requests_under_load_use_one_table_each_while_tables_change() -> None:
    """Each request has the table of its moment, and the next one the newest."""

    async def answer(frame: bytes) -> bytes | None:
        await asyncio.sleep(0)
        return echo(frame)

    tables = StandInTables(tables_of(1, sales=("User:ANONYMOUS",)))
    async with running(StandInBroker(answer), tables=tables) as run:
        clients = [await run.connect() for _ in range(5)]

        async def ask(number: int) -> None:
            for each in range(200):
                body = each.to_bytes(4, "big")
                assert (await clients[number].ask(FORWARDED, each, body))[4:] == body

        async def change() -> None:
            for version in range(2, 100):
                run.tables.tables = tables_of(version, sales=("User:ANONYMOUS",))
                run.gateway.connections.check_members()
                await asyncio.sleep(0.002)

        await asyncio.gather(change(), *map(ask, range(5)))
        versions = [table.version if table else 0 for table in StandInRewriter.tables]
        assert len(versions) == 1000
        assert versions == sorted(versions)
        assert len(set(versions)) > 5
        assert run.refusals == []
