"""Brokers that die, come back, move, or can't be reached."""

from gateway.connections.stand_ins import FORWARDED, StandInBroker, request, running

from kgitops.gateway.listening.brokers import BrokerAddress


async def test_a_connection_ends_with_its_broker_and_the_next_one_finds_it_again() -> None:
    broker = StandInBroker()
    async with running(broker) as run:
        client = await run.connect()
        await client.ask(FORWARDED, 1)
        await broker.die()
        assert await client.rest() == b""
        refusal = await run.refused(request(FORWARDED, 2))
        assert refusal["reason"] == "broker"
        assert "can't be reached" in str(refusal["sentence"])
        await broker.start(broker.port)
        again = await run.connect()
        assert await again.ask(FORWARDED, 3, b"on") == b"\0\0\0\3on"


async def test_the_address_for_a_start_leads_to_a_broker_that_lives() -> None:
    dead, alive = StandInBroker(), StandInBroker()
    async with running(dead, alive) as run:
        await dead.die()
        for number in range(4):
            client = await run.connect()
            await client.ask(FORWARDED, number)
        assert alive.connections == 4


async def test_each_brokers_port_leads_to_it_also_after_it_moved() -> None:
    brokers = [StandInBroker(), StandInBroker()]
    moved = StandInBroker()
    await moved.start()
    async with running(*brokers) as run:
        addresses = run.gateway._listeners[0].addresses
        ports = [addresses.advertise(node, b"127.0.0.1", brokers[node].port)[1]
                 for node in range(2)]  # fmt: skip
        assert len({run.port, *ports}) == 3
        for node, port in enumerate(ports):
            await (await run.connect(port)).ask(FORWARDED, node)
        assert [len(broker.frames) for broker in brokers] == [1, 1]
        assert addresses.advertise(1, b"127.0.0.1", moved.port) == (b"127.0.0.1", ports[1])
        await (await run.connect(ports[1])).ask(FORWARDED, 2)
        assert len(moved.frames) == 1
        await moved.die()


async def test_a_broker_that_comes_later_has_a_port_at_once() -> None:
    later = StandInBroker()
    await later.start()
    async with running(StandInBroker()) as run:
        addresses = run.gateway._listeners[0].addresses
        host, port = addresses.advertise(7, b"127.0.0.1", later.port)
        assert host == b"127.0.0.1"
        assert await (await run.connect(port)).ask(FORWARDED, 1, b"x") == b"\0\0\0\1x"
        assert len(later.frames) == 1
        run.gateway.learn({7: BrokerAddress("127.0.0.1", later.port)})
        assert addresses.advertise(7, b"127.0.0.1", later.port)[1] == port
        await later.die()


async def test_a_start_leads_to_a_broker_that_came_later() -> None:
    first, later = StandInBroker(), StandInBroker()
    await later.start()
    async with running(first) as run:
        run.gateway.learn({7: BrokerAddress("127.0.0.1", later.port)})
        await first.die()
        assert await (await run.connect()).ask(FORWARDED, 1, b"x") == b"\0\0\0\1x"
        await later.die()


async def test_the_gateway_ends_at_once_and_another_one_takes_its_place() -> None:
    broker = StandInBroker()
    async with running(broker) as run:
        client = await run.connect()
        await client.ask(FORWARDED, 1)
        run.gateway._close_listeners()
        for connection in list(run.gateway.connections._open):
            connection.close()
        assert await client.rest() == b""
    async with running(StandInBroker()) as run:
        assert await (await run.connect()).ask(FORWARDED, 2, b"y") == b"\0\0\0\2y"
