"""A model of brokers without virtual clusters, which carry out physical requests."""

from collections.abc import Mapping, Sequence
from copy import copy
from uuid import NAMESPACE_DNS, uuid5

from msgspec.structs import replace

from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.lowering.effects import LoweredBatch, PhysicalRequest
from kgitops.lowering.lifting import lift
from kgitops.lowering.lowerer import Lowerer
from kgitops.lowering.records import PREFIX
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.json.canonical import canonical_json, plain_json
from kgitops.model.json.records import Record
from kgitops.model.registry import RegistryState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.results import OK, ErrorCode, RequestResult


class CrashError(Exception):
    """The process died."""


class Brokers:
    """``state`` is physical. ``events`` counts writes and requests; at ``crash_at`` it crashes."""

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        acls: Sequence[AclBinding] = (),
        quotas: Sequence[ClientQuotaState] = (),
    ) -> None:
        self.state = ClusterState(
            cluster_id="c",
            backend="kafka",
            brokers=(Broker(id=1),),
            topics={name: _topic(name) for name in topics},
            acls=frozenset(acls),
            quotas={quota.entity: quota for quota in quotas},
            registry=RegistryState(topic_id="r", offset=0),
        )
        self.minted: list[str] = []
        self.asked: list[req.Request] = []
        self.events = 0
        self.crash_at: int | None = None
        self.refuse: Sequence[tuple[req.Request, ErrorCode]] = ()

    def copied(self) -> "Brokers":
        """Return brokers that go on from here, apart from these."""
        twin = copy(self)
        twin.minted, twin.asked = [*self.minted], [*self.asked]
        return twin

    @property
    def logical(self) -> ClusterState:
        return lift(self.state)

    @property
    def records(self) -> Mapping[str, object]:
        assert self.state.registry is not None
        return self.state.registry.virtual_clusters

    def new_uuid(self) -> str:
        self.minted.append(f"00000000-0000-4000-8000-{len(self.minted) + 1:012d}")
        return self.minted[-1]

    def ask(self, *requests: req.Request) -> tuple[RequestResult, ...]:
        """Carry out one batch of logical requests."""
        step = Lowerer(self.logical, self.new_uuid).lower_batch(requests)
        return self.take(step)

    def take(self, step: LoweredBatch) -> tuple[RequestResult, ...]:
        self.write(step.before)
        failed: set[int] = set()
        answers = []
        for physical in step.physical:
            if failed.isdisjoint(physical.requested_by):
                answers.append(self.send(physical))
            else:
                answers.append(RequestResult(code=ErrorCode.OPERATION_NOT_ATTEMPTED))
            if not answers[-1].ok:
                failed.update(physical.requested_by)
        finished = step.finish(answers)
        self.write(finished.records)
        return finished.results

    def write(self, records: Sequence[Record]) -> None:
        """One append: all or nothing."""
        if not records:
            return
        self._event()
        assert self.state.registry is not None
        found = dict(self.state.registry.virtual_clusters)
        for key, value in records:
            assert key.startswith(PREFIX)
            if value is None:
                found.pop(key.removeprefix(PREFIX), None)
            else:
                canonical_json(plain_json(value))
                found[key.removeprefix(PREFIX)] = plain_json(value)
        registry = replace(self.state.registry, virtual_clusters=found)
        self.state = replace(self.state, registry=registry)

    def send(self, physical: PhysicalRequest) -> RequestResult:
        self._event()
        request = physical.request
        assert physical.line
        self.asked.append(request)
        for refused, code in self.refuse:
            if refused == request:
                return RequestResult(code=code)
        return self.do(request)

    def do(self, request: req.Request) -> RequestResult:
        """Carry out one physical request, which others may send too."""
        state = self.state
        match request:
            case req.CreateTopicRequest(topic=name):
                assert request.local is None
                if name in state.topics:
                    return RequestResult(code=ErrorCode.TOPIC_ALREADY_EXISTS)
                topic = _topic(name)
                self.state = replace(state, topics={**state.topics, name: topic})
                return RequestResult(topic_id=topic.topic_id)
            case req.CreateAclRequest(binding=binding):
                assert not binding.scoped
            case _:
                pass
        self.state = state.after([request])
        return OK

    def _event(self) -> None:
        if self.crash_at is not None and self.events >= self.crash_at:
            raise CrashError
        self.events += 1


def id_text(name: str) -> str:
    """The id of the topic of that name, as Kafka spells ids."""
    return uuid_to_text(uuid5(NAMESPACE_DNS, name))


def _topic(name: str) -> TopicState:
    return TopicState(name=name, topic_id=id_text(name), assignment=((1,),))


def a_requested_topic(name: str) -> RequestedTopicState:
    return RequestedTopicState(name=name, topic_id=None, assignment=((1,),))
