"""A client that may do nothing learns nothing, and changes nothing, whatever it asks."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest
from cluster.clusters import ROOT, a_grant, a_new_topic, admin
from cluster.embedded.bound.tenancies import execute
from serve.answers.groups.group_client import join, sync
from serve.attacks.denials import DENIALS, Denial, Named
from serve.login.logging_in import upsertion
from serve.plain_requests import error_codes, request_of
from serve.raw_client import RawClient
from serve.served import ServedCluster, served

from kgitops.cluster.embedded.options import Compat
from kgitops.model import requests as req
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.users import ScramMechanism
from kgitops.serve.answers.values import topic_id_bytes
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.messages import Message

ABSENT = Named(word="absent", topic_id=bytes(range(16)))
KINDS = ("topic", "group", "consumers", "shares", "user", "tenant", "transactions")
SECRETS = [f"hidden-{kind}" for kind in KINDS]
NODES = {NodeKind.BROKER: 1, NodeKind.CONTROLLER: 3000}


_GROUP, _TRANSACTION = 0, 1


@pytest.fixture(scope="module", params=Compat)
def brokers(request: pytest.FixtureRequest) -> Iterator[ServedCluster]:
    """A cluster with one object of every kind, of which the clients may see none."""
    acl = a_grant(Operation.READ, ResourceType.TOPIC, "hidden-topic", "User:hidden-user")
    configs = {
        "group.consumer.session.timeout.ms": "600000",
        "group.share.session.timeout.ms": "600000",
    }
    with (
        served(compat=request.param, rights=(acl,), static_configs=configs) as started,
        ExitStack() as stack,
    ):
        _fill(started, stack)
        yield started


@pytest.fixture(scope="module")
def hidden(brokers: ServedCluster) -> Named:
    """The names of what there is."""
    topic = brokers.embedded.controller.image().topics.by_name["hidden-topic"]
    return Named(word="hidden", topic_id=topic_id_bytes(topic.topic_id))


def _fill(brokers: ServedCluster, stack: ExitStack) -> None:
    cluster = brokers.embedded
    root = admin(cluster, ROOT)
    new_topic = a_new_topic("hidden-topic", retention_ms="12345678")
    assert root.create_topics([new_topic])["hidden-topic"].ok
    users = [upsertion(ScramMechanism.SHA_256, "hidden-user", "hidden")]
    assert root.alter_user_scram_credentials(upsertions=users)["hidden-user"].ok
    execute(cluster, req.CreateVirtualClusterRequest(virtual_cluster="hidden-tenant"))
    root_client = stack.enter_context(brokers.client(principal=ROOT))
    quota = {"entity": {"entity_type": "user", "entity_name": "hidden-user"},
             "ops": {"key": "producer_byte_rate", "value": 123456.0}}  # fmt: skip
    asked = request_of("AlterClientQuotas", {"entries": quota})
    assert root_client.ask("AlterClientQuotas", 1, asked).entries[0].error_code == 0
    asked = request_of(
        "InitProducerId",
        {"transactional_id": "hidden-transactions", "transaction_timeout_ms": 60_000},
    )
    producing = _at_coordinator(brokers, stack, root_client, "hidden-transactions", _TRANSACTION)
    assert producing.ask("InitProducerId", 5, asked).error_code == 0
    classic = _at_coordinator(brokers, stack, root_client, "hidden-group")
    joined = join(classic, "hidden-group", session_timeout_ms=600_000)
    assert sync(classic, "hidden-group", joined, {joined.member_id: b"x"}).error_code == 0
    modern = _at_coordinator(brokers, stack, root_client, "hidden-consumers")
    beat = {"group_id": "hidden-consumers", "member_id": "hidden-member", "member_epoch": 0,
            "rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_regex": None,
            "subscribed_topic_names": ["hidden-topic"]}  # fmt: skip
    asked = request_of("ConsumerGroupHeartbeat", beat)
    assert modern.ask("ConsumerGroupHeartbeat", 1, asked).error_code == 0
    sharing = _at_coordinator(brokers, stack, root_client, "hidden-shares")
    beat = {"group_id": "hidden-shares", "member_id": "hidden-member", "member_epoch": 0,
            "subscribed_topic_names": ["hidden-topic"]}  # fmt: skip
    asked = request_of("ShareGroupHeartbeat", beat)
    assert sharing.ask("ShareGroupHeartbeat", 1, asked).error_code == 0


def _at_coordinator(
    brokers: ServedCluster, stack: ExitStack, client: RawClient, key: str, key_type: int = _GROUP
) -> RawClient:
    request = messages.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    node = client.ask("FindCoordinator", 6, request).coordinators[0].node_id
    return stack.enter_context(brokers.client(node, principal=ROOT))


def _announced(brokers: ServedCluster, kind: NodeKind) -> Mapping[str, int]:
    """The newest version of each API that a node announces, as clients are told."""
    with brokers.client(NODES[kind]) as client:
        told = client.ask("ApiVersions", 4, request_of("ApiVersions", _SOFTWARE))
    return {apis()[row.api_key].name: row.max_version for row in told.api_keys}


_SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}


def _rows(kind: NodeKind) -> list[Any]:
    return [
        pytest.param(kind, api, denial, id=f"{kind}-{api}-{number}")
        for api, denials in DENIALS.items()
        for number, denial in enumerate(denials)
        if kind in denial.kinds and kind in apis()[keys()[api]].listeners
    ]


@pytest.mark.parametrize("kind", NodeKind)
def test_every_announced_api_is_tried(brokers: ServedCluster, kind: NodeKind) -> None:
    """A new API needs its rows in the table."""
    tried = {api for api, denials in DENIALS.items() for one in denials if kind in one.kinds}
    assert set(_announced(brokers, kind)) <= tried


@pytest.mark.parametrize(
    ("kind", "api", "denial"), [*_rows(NodeKind.BROKER), *_rows(NodeKind.CONTROLLER)]
)
def test_nothing_is_told_and_nothing_changes(
    brokers: ServedCluster, hidden: Named, kind: NodeKind, api: str, denial: Denial
) -> None:
    """A4-88, A4-93, F590-52, VC-244: the error is Kafka's, as for what does not exist."""
    version = _announced(brokers, kind)[api]
    before = _state(brokers)
    answers = [_asked(brokers, kind, api, version, denial, named) for named in (hidden, ABSENT)]
    assert _state(brokers) == before
    of_hidden, of_absent = (msgspec.to_builtins(answer) for answer in answers)
    seed = brokers.embedded.controller.options.seed and denial.seed is not None
    assert error_codes(answers[0]) - {0} == (denial.seed if seed else denial.codes)
    told = str(of_hidden)
    if not denial.ids_are_told:
        neutral = str(of_absent).replace("absent", "hidden")
        unknown = str(msgspec.to_builtins(ABSENT.topic_id))
        known = str(msgspec.to_builtins(hidden.topic_id))
        assert told == neutral.replace(unknown, known)
    asked = str(msgspec.to_builtins(request_of(api, denial.fields(hidden))))
    for secret in (*SECRETS, "12345"):
        assert secret in asked or secret not in told


def _asked(
    brokers: ServedCluster,
    kind: NodeKind,
    api: str,
    version: int,
    denial: Denial,
    named: Named,
) -> Message:
    with brokers.client(NODES[kind]) as client:
        if api == "SaslAuthenticate" and kind is NodeKind.CONTROLLER:
            client.ask("SaslHandshake", 1, messages.SaslHandshakeRequest(mechanism="PLAIN"))
        return client.ask(api, version, request_of(api, denial.fields(named)))


def _state(brokers: ServedCluster) -> object:
    """All that requests can change."""
    cluster = brokers.server.cluster
    held = [cluster.groups.group(name) for name in ("hidden-group", "absent-group")]
    modern = [cluster.groups.consumers.group(f"{word}-consumers") for word in ("hidden", "absent")]
    controller = brokers.embedded.controller
    tables = controller.batches
    written = {key: tables.offsets(key) for key in tables.partitions()} if tables.exist else {}
    return controller.image(), held, modern, written
