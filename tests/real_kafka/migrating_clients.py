"""A shop that writes and an invoicing that reads, all the while they are being migrated."""

from collections.abc import Mapping
from contextlib import closing
from threading import Event, Thread
from typing import Self

from patience import eventually

TOPICS = ("emea.eu.sales.orders", "emea.eu.sales.refunds")
PARTITIONS = 3
Place = tuple[str, int]
PLACES: tuple[Place, ...] = tuple((topic, part) for topic in TOPICS for part in range(PARTITIONS))
_PATIENCE_S = 60
_STEP = 10  # records of a partition


class Shop:
    """A producer, ``acked``: how many records of each partition the brokers have."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        self.acked = dict.fromkeys(PLACES, 0)
        self.problems: list[str] = []
        self._configs = configs
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        from confluent_kafka import KafkaError, Message, Producer

        def told(error: KafkaError | None, message: Message) -> None:
            place = (message.topic(), message.partition())
            if error:
                self.problems.append(f"{place}: {error}")
            else:
                self.acked[place] += 1

        producer = Producer({**self._configs, "enable.idempotence": True, "linger.ms": 5})
        while not self._stop.wait(0.03):
            for topic, partition in PLACES:
                producer.produce(topic, b"sold", partition=partition, on_delivery=told)
            producer.poll(0)
        producer.flush(_PATIENCE_S)


class Invoicing:
    """A consumer, ``read``: the offsets of each partition in the order that it read them in.

    It commits now and then, and when it is stopped. Where nothing is committed it starts at
    ``reset``; with ``error`` that is a problem.
    """

    def __init__(self, configs: Mapping[str, str], group: str, reset: str = "error") -> None:
        self.read: dict[Place, list[int]] = {place: [] for place in PLACES}
        self.committed = 0
        self.problems: list[str] = []
        self._configs = {**configs, "group.id": group, "auto.offset.reset": reset}
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def first(self) -> dict[Place, int]:
        """Where it began in each partition."""
        return {place: offsets[0] for place, offsets in self.read.items()}

    def next(self) -> dict[Place, int]:
        """Where it would have gone on."""
        return {place: offsets[-1] + 1 for place, offsets in self.read.items()}

    def _run(self) -> None:
        from confluent_kafka import Consumer, KafkaException

        consumer = Consumer({**self._configs, "enable.auto.commit": False})
        consumer.subscribe(list(TOPICS))
        fresh = 0
        try:
            while not self._stop.is_set():
                for message in consumer.consume(100, timeout=0.2):
                    if message.error():
                        self.problems.append(str(message.error()))
                        continue
                    self.read[message.topic(), message.partition()].append(message.offset())
                    fresh += 1
                if fresh >= _STEP * len(PLACES):
                    consumer.commit(asynchronous=False)
                    self.committed += 1
                    fresh = 0
            if fresh:
                consumer.commit(asynchronous=False)
        except KafkaException as error:
            self.problems.append(str(error))
        finally:
            consumer.close()


def go_on(shop: Shop, invoicing: Invoicing) -> None:
    """Both do, in every partition, and it can commit what it read.

    A client that met with anything at all fails at once.
    """
    acked = {place: count + _STEP for place, count in shop.acked.items()}
    read = {place: len(offsets) + _STEP for place, offsets in invoicing.read.items()}
    commits = invoicing.committed + 2

    def missing() -> dict[str, int]:
        assert (shop.problems, invoicing.problems) == ([], [])
        left = {f"acknowledged in {place}": n - shop.acked[place] for place, n in acked.items()}
        left |= {f"read in {place}": n - len(invoicing.read[place]) for place, n in read.items()}
        left["commits"] = commits - invoicing.committed
        return {what: count for what, count in left.items() if count > 0}

    eventually(missing, lambda left: not left, what="both go on")


def refused(configs: Mapping[str, str], group: str) -> str:
    """The name of the error that a consumer in this group meets first."""
    from confluent_kafka import Consumer

    consumer = Consumer({**configs, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(list(TOPICS))
    with closing(consumer):
        message = eventually(
            lambda: consumer.poll(0.5),
            lambda found: found is not None,
            what="the consumer gets a record or an error",
        )
        return str(message.error().name()) if message.error() else ""
