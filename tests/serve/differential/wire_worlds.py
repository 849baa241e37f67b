"""The two clusters that programs are asked on: a served one, and a real Kafka."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from patience import eventually
from real_kafka.served_kafka import options_with_logins
from serve.differential.random_choices import ADMIN, Coordinator, Step
from serve.login.logging_in import log_in
from serve.plain_requests import request_of
from serve.raw_client import RawClient

from kgitops.cluster.embedded.boot import boot
from kgitops.sandbox.layout import USERS
from kgitops.sandbox.sandbox import Sandbox
from kgitops.serve.background import serving
from kgitops.serve.nodes import Endpoint
from kgitops.wire import messages
from kgitops.wire.apis import apis
from kgitops.wire.messages import NIL_UUID, Message

ASKED_BROKER = 1
CLOSED = "the connection is closed"
"""What stands for an answer where there is none."""
ID_OF = "id of "
_STARTING = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, …_NOT_AVAILABLE, NOT_…
_UNKNOWN_ID = b"no topic has it."
_CLUSTER, _LITERAL, _ALLOW = 4, 3, 3

_MIN_INSYNC = Step(
    "IncrementalAlterConfigs",
    {
        "resources": [
            {
                "resource_type": 4,
                "resource_name": "",
                "configs": [{"name": "min.insync.replicas", "value": "1"}],
            }
        ]
    },
    writes=True,
)
"""What a cluster has from its formatting (KIP-966)."""

Endpoints = Mapping[int, Endpoint]


class WireWorld:
    """The connections to one cluster, and the ids that its topics have."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self._clients: dict[tuple[int, str], RawClient] = {}
        self._barriers = count(1)
        self.topics: dict[bytes, str] = {}
        self.versions: dict[str, range] = {}
        named = messages.ApiVersionsRequest(
            client_software_name="kgitops", client_software_version="1"
        )
        answer = self._client(ASKED_BROKER, ADMIN).ask("ApiVersions", 3, named)
        assert answer.error_code == 0
        names = {key: api.name for key, api in apis().items()}
        self.versions = {
            names[row.api_key]: range(row.min_version, row.max_version + 1)
            for row in answer.api_keys
            if row.api_key in names
        }

    def ask(self, step: Step, version: int) -> Message:
        """The answer to a step; when it comes, every broker knows what it changed."""
        broker = ASKED_BROKER if step.coordinator is None else self._coordinator(step.coordinator)

        def settled() -> Message | None:
            answer = self._client(broker, step.user).ask(step.api, version, self.request(step))
            return None if step.coordinator and _is_starting(answer) else answer

        try:
            answer = eventually(settled, what=f"the coordinator answers {step.api}")
        except ConnectionError:
            self._clients.pop((broker, step.user)).close()
            return CLOSED
        if step.writes:
            self._await_everywhere()
            self._learn_ids(step, answer)
        return answer

    def request(self, step: Step) -> Message:
        """The message of a step on this cluster."""
        return request_of(step.api, step.fields, self._with_id)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _with_id(self, value: Any) -> Any:  # noqa: ANN401 (of any field)
        """The topic's id, where a value stands for one."""
        if not (isinstance(value, str) and value.startswith(ID_OF)):
            return value
        name = value.removeprefix(ID_OF)
        found = (id_ for id_, topic in reversed(self.topics.items()) if topic == name)
        return next(found, _UNKNOWN_ID)

    def _client(self, broker: int, user: str) -> RawClient:
        if (broker, user) not in self._clients:
            client = RawClient(self._endpoints[broker])
            assert log_in(client, user, USERS[user]).error_code == 0
            self._clients[broker, user] = client
        return self._clients[broker, user]

    def _coordinator(self, coordinator: Coordinator) -> int:
        request = messages.FindCoordinatorRequest(
            key_type=coordinator.key_type, coordinator_keys=[coordinator.key]
        )

        def found() -> int | None:
            (row,) = (
                self._client(ASKED_BROKER, ADMIN).ask("FindCoordinator", 4, request).coordinators
            )
            return row.node_id if row.error_code == 0 else None

        return eventually(found, what=f"the coordinator of {coordinator.key}")

    def _learn_ids(self, step: Step, answer: Message) -> None:
        if step.api == "CreateTopics":
            names = [row.name for row in answer.topics if row.error_code == 0]
            if names:
                rows = [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
                request = messages.MetadataRequest(topics=rows, allow_auto_topic_creation=False)
                for row in self._client(ASKED_BROKER, ADMIN).ask("Metadata", 12, request).topics:
                    if row.topic_id != NIL_UUID:
                        self.topics[row.topic_id] = row.name

    def _await_everywhere(self) -> None:
        """Brokers apply changes in order, and ACLs last: one that is seen comes after all."""
        principal = f"User:barrier-{next(self._barriers)}"
        acl = messages.CreateAclsRequest.AclCreation(
            resource_type=_CLUSTER,
            resource_name="kafka-cluster",
            resource_pattern_type=_LITERAL,
            principal=principal,
            host="*",
            operation=8,
            permission_type=_ALLOW,
        )
        admin = self._client(ASKED_BROKER, ADMIN)
        answer = admin.ask("CreateAcls", 3, messages.CreateAclsRequest(creations=[acl]))
        assert answer.results[0].error_code == 0
        request = messages.DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=principal,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        for broker in self._endpoints:
            client = self._client(broker, ADMIN)
            eventually(
                lambda client=client: client.ask("DescribeAcls", 3, request).resources,
                what="the ACL is known",
            )
        moves = messages.ListPartitionReassignmentsRequest(topics=None)
        eventually(
            lambda: admin.ask("ListPartitionReassignments", 0, moves).topics,
            lambda moving: not moving,
            what="no partition moves",
        )


@contextmanager
def served_world() -> Iterator[WireWorld]:
    """A served cluster of three brokers, with the configs of a sandbox."""
    configs = {
        "log.index.size.max.bytes": "4096",
        "auto.create.topics.enable": "false",
        "process.roles": "broker,controller",
    }
    options = options_with_logins(configs)
    cluster = boot(None, brokers=3, options=options)
    try:
        with serving(cluster) as server:
            nodes = server.cluster.nodes
            world = WireWorld({id_: nodes[id_].endpoint for id_ in (1, 2, 3)})
            world.ask(_MIN_INSYNC, version=1)
            yield world
            world.close()
    finally:
        cluster.close()


@contextmanager
def real_world(sandbox: Sandbox) -> Iterator[WireWorld]:
    """A sandbox with SASL."""
    servers = (sandbox.layout.server(id_, "SASL_PLAINTEXT") for id_ in sandbox.broker_ids)
    pairs = (server.rpartition(":") for server in servers)
    endpoints = [Endpoint(host, int(port)) for host, _, port in pairs]
    world = WireWorld(dict(zip(sandbox.broker_ids, endpoints, strict=True)))
    yield world
    world.close()


def version_of(step: Step, worlds: tuple[WireWorld, WireWorld]) -> int:
    """The version that a step is asked in: both clusters announce it."""
    ours, theirs = (world.versions[step.api] for world in worlds)
    newest = min(ours[-1], theirs[-1])
    return newest if step.version is None else min(step.version, newest)


def _is_starting(answer: Message) -> bool:
    """Tell if a coordinator answers that it is none yet: clients ask again."""
    if isinstance(answer, list):
        return any(map(_is_starting, answer))
    if not hasattr(answer, "__struct_fields__"):
        return False
    fields = {name: getattr(answer, name) for name in answer.__struct_fields__}
    return fields.get("error_code") in _STARTING or any(map(_is_starting, fields.values()))
