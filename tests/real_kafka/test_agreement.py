"""What documents may say, against what brokers take: ACLs, quotas and assignments of replicas.

Generated documents are read as `kgitops plan` reads them; the request that each stands for goes to
the brokers and to the embedded cluster, whatever kgitops says of it. What kgitops lets through is
never refused, and what it refuses though brokers would not is told in STRICTER, with the reason.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builders import ALL_CAPABILITIES
from cluster_contract.contract import alteration, await_state, creation
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from manifests.loading import build, load
from msgspec.structs import replace

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.errors import FindingsError, UnreachableError
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import CLIENT_ID, IP, USER, ClientQuotaEntity, make_entity
from kgitops.model.results import ErrorCode
from kgitops.model.source import Severity
from kgitops.plan.planner import make_plan

pytestmark = pytest.mark.kafka

EXAMPLES = 250
WHO = "User:ANONYMOUS"
BROKEN = "the connection is closed"
LONGEST = 32_767
TEXTS = ("t", "*", "a*", " ", "a b", "\t", "é", "\0", "a,b", "User:x", "x" * 250, CLUSTER_NAME)
LONG = ("x" * LONGEST, "x" * (LONGEST + 1), "ü" * (LONGEST // 2 + 1))
PRINCIPALS = (
    *("User:a", "User:*", "User:", "User:a b", "Group:x", "foo:bar", "a", "User", ":a", " User:a"),
    *("User: a", "User:a:b", "U r:a", f"User:{'x' * (LONGEST - 5)}", f"User:{'x' * LONGEST}"),
)
HOSTS = ("*", "10.0.0.1", "::1", "localhost", "10.0.0.0/8", "fe80::1%eth0", *LONG)
ADDRESSES = (
    *("10.0.0.1", "::1", "0:0:0:0:0:0:0:1", "::ffff:1.2.3.4", "10.1", "010.0.0.1", "localhost"),
    *("fe80::1", "fe80::1%no-such", "1.2.3.4/8", "999.1.1.1", "a b", None),
)
NAMES = ("a", "User:a", "é /%", "a\nb", "<default>", None, *LONG)
KEYS = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
    *("controller_mutation_rate", "connection_creation_rate", "no_such_rate"),
)
VALUES = (
    *(1, 0.5, 0, -1, 1e-9, 12.5, 1.0000001, 2**31 - 1, 2**31, 2**53, 2**53 + 2, 2**63, 1e19, 1e300),
)

STRICTER = {
    "is not an operation on": "Kafka keeps rights that no request ever asks for",
    "can only be named literally": "kafka-cluster is not a prefix, though Kafka keeps it as one",
    "is not a principal": "no type, or nothing behind it: nobody is ever called that",
    "can't be declared: kgitops keeps its registry": "the registry",
    "is not an IP address": "a host name, or an address in a spelling that is read in two ways",
    ", another has ": "partitions with unlike numbers of replicas, which no topic is made with",
    "must be a whole number": "Kafka rounds what is nearly one",
    "must be at most 9007199254740992": "beyond it a double is not exact",
}
"""Words of a finding, and why kgitops refuses what brokers take."""


@pytest.fixture(scope="module")
def embedded() -> Iterator[Cluster]:
    """It answers as Kafka."""
    cluster = connect("embedded:?brokers=3&compat=kraft&virtual.clusters=0", base=Path())
    yield cluster
    cluster.close()


def each(documents: st.SearchStrategy[dict], check: Callable[[dict], None], number: int) -> None:
    """Check what is generated; every one of them, so that a run tells all disagreements."""
    wrong: list[str] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(documents)
    def one(document: dict) -> None:
        try:
            check(document)
        except AssertionError as error:
            wrong.append(str(error).split("\nassert")[0][:600])

    one()
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def said(folder: Path, spec: dict, kind: str, state: ClusterState, name: str = "x") -> list[str]:
    """The errors of a plan of one document; none: a plan would send what it stands for."""
    document = {"apiVersion": "kgitops/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    (folder / "x.json").write_text(json.dumps(document))
    try:
        desired = build(load(folder / "x.json"))
    except FindingsError as error:
        return [str(item) for item in error.findings if item.severity is Severity.ERROR]
    return planned(desired, state)


def planned(desired: DesiredState, state: ClusterState) -> list[str]:
    """The findings of a plan, alike on Kafka and where there are no virtual clusters at all."""
    found = []
    for support in (VirtualClusterSupport.LOWERED, VirtualClusterSupport.NONE):
        capabilities = replace(ALL_CAPABILITIES, backend="kafka", virtual_clusters=support)
        plan = make_plan(desired, state, target_name="x", capabilities=capabilities)
        found.append([str(item) for item in (*plan.findings, *plan.refusals)])
    assert bool(found[0]) == bool(found[1]), found
    return found[0]


def answer(cluster: Cluster, request: req.Request) -> str:
    """What a cluster says, or that the brokers hang up on it."""
    try:
        (result,) = cluster.execute([request], validate_only=False, principal=WHO)
    except UnreachableError:
        return BROKEN
    return "ok" if result.ok else f"{result.code.name}: {result.message}"


def agree(what: object, findings: list[str], brokers: str) -> None:
    """What kgitops lets through is taken, and what it refuses is refused, or told above."""
    shown = repr(what)[:300]
    if brokers == "ok":
        strict = [item for item in findings if not any(words in item for words in STRICTER)]
        assert not strict, f"{shown}: brokers take it, kgitops says {strict}"
    else:
        assert findings, f"{shown}: kgitops says nothing, brokers say {brokers}"


# ACLs.

resources = st.sampled_from(ResourceType).flatmap(
    lambda kind: st.fixed_dictionaries(
        {
            "type": st.just(kind),
            "name": st.sampled_from((*TEXTS, *LONG, CLUSTER_NAME, CLUSTER_NAME)),
            "patternType": st.sampled_from(PatternType),
        }
    )
)
OF_KAFKA = sorted(set(Operation) - VIRTUAL_CLUSTER_OPERATIONS)
acls = st.fixed_dictionaries(
    {
        "principal": st.sampled_from(("User:a", "User:a", *PRINCIPALS)),
        "host": st.sampled_from(("*", "*", *HOSTS)),
        "permission": st.sampled_from(PermissionType),
        "operations": st.sampled_from(((Operation.ALL,), *((one,) for one in OF_KAFKA))),
        "resource": resources,
    }
)


def binding_of(spec: dict) -> AclBinding:
    resource = spec["resource"]
    return AclBinding(
        resource_type=resource["type"],
        resource_name=resource["name"],
        pattern_type=resource["patternType"],
        principal=spec["principal"],
        host=spec["host"],
        operation=spec["operations"][0],
        permission_type=spec["permission"],
    )


def test_acls(kafka_cluster: Cluster, embedded: Cluster, tmp_path: Path) -> None:
    state = kafka_cluster.read_state()

    def check(spec: dict) -> None:
        request = req.CreateAclRequest(binding=binding_of(spec))
        brokers = answer(kafka_cluster, request)
        agree(spec, said(tmp_path, spec, "Acl", state), brokers)
        if brokers != BROKEN:
            here = answer(embedded, request)
            assert here == brokers, f"{repr(spec)[:300]}: {brokers}, embedded {here}"

    each(acls, check, 1)


# Quotas.

entities = st.one_of(
    st.fixed_dictionaries({"user": st.sampled_from(NAMES)}),
    st.fixed_dictionaries({"clientId": st.sampled_from(NAMES)}),
    st.fixed_dictionaries({"user": st.sampled_from(NAMES), "clientId": st.sampled_from(NAMES)}),
    st.fixed_dictionaries({"ip": st.sampled_from(ADDRESSES)}),
    st.fixed_dictionaries({"ip": st.just("10.0.0.1"), "user": st.just("a")}),
)
quotas = st.fixed_dictionaries(
    {
        "entity": entities,
        "quotas": st.dictionaries(
            st.sampled_from(KEYS), st.sampled_from((1, 1, *VALUES)), min_size=1, max_size=2
        ),
    }
)
_KINDS = {"user": USER, "clientId": CLIENT_ID, "ip": IP}


def entity_of(spec: dict) -> ClientQuotaEntity:
    """``<default>`` is how documents may spell the default."""
    parts = {_KINDS[kind]: name for kind, name in spec["entity"].items()}
    return make_entity({kind: None if n == "<default>" else n for kind, n in parts.items()})


def test_quotas(kafka_cluster: Cluster, embedded: Cluster, tmp_path: Path) -> None:
    state = kafka_cluster.read_state()

    def check(spec: dict) -> None:
        wanted = {key: float(value) for key, value in spec["quotas"].items()}
        request = req.AlterClientQuotaRequest(entity=entity_of(spec), quotas=wanted)
        brokers = answer(kafka_cluster, request)
        names = {
            kind: {"default": True} if name is None else name
            for kind, name in spec["entity"].items()
        }
        agree(spec, said(tmp_path, {**spec, "entity": names}, "ClientQuota", state), brokers)
        if brokers != BROKEN:
            # Of two wrong keys brokers name the one that Java's HashMap has first.
            here, there = answer(embedded, request), brokers
            if len(wanted) > 1:
                here, there = here.partition(":")[0], there.partition(":")[0]
            assert here == there, f"{repr(spec)[:300]}: {brokers}, embedded {here}"

    try:
        each(quotas, check, 2)
    finally:
        unthrottle(kafka_cluster)


def unthrottle(cluster: Cluster) -> None:
    """Quotas of everybody hold for the tests as well."""
    for entity, found in cluster.read_state().quotas.items():
        answer(
            cluster, req.AlterClientQuotaRequest(entity=entity, quotas=dict.fromkeys(found.quotas))
        )


# Assignments of replicas, of new topics and of one that is there.

replicas = st.lists(st.sampled_from((1, 2, 3, 1, 2, 3, 0, 4, 2**31 - 1)), max_size=4)
assignments = st.lists(replicas, min_size=1, max_size=3)


def test_assignments_of_new_topics(
    kafka_cluster: Cluster, embedded: Cluster, tmp_path: Path
) -> None:
    state = kafka_cluster.read_state()
    number = iter(range(EXAMPLES * 2))

    def check(lists: list[list[int]]) -> None:
        name = f"new-{next(number)}"
        request = creation(name, tuple(map(tuple, lists)))
        brokers = answer(kafka_cluster, request)
        spec = {"assignments": dict(enumerate(lists))}
        agree(lists, said(tmp_path, spec, "Topic", state, name), brokers)
        assert answer(embedded, request) == brokers, lists

    each(assignments, check, 3)


def test_reassignments(kafka_cluster: Cluster, embedded: Cluster, tmp_path: Path) -> None:
    """Of a topic of two partitions."""
    found = {}
    for cluster in (kafka_cluster, embedded):
        assert answer(cluster, creation("moved", ((1, 2), (2, 3)))) == "ok"
        state = await_state(cluster, lambda state: "moved" in state.topics)
        found[cluster] = state.topics["moved"]
    state = kafka_cluster.read_state()

    def check(lists: list[list[int]]) -> None:
        after = tuple(map(tuple, lists))
        brokers, here = (
            answer(cluster, alteration(topic, req.AlterStep.REPLICAS, assignment=after))
            for cluster, topic in found.items()
        )
        spec = {"assignments": dict(enumerate(lists))}
        agree(lists, said(tmp_path, spec, "Topic", state, "moved"), brokers)
        assert here == brokers, lists

    each(st.lists(replicas, min_size=2, max_size=2), check, 4)


def test_it_can_fail(kafka_cluster: Cluster) -> None:
    """The law, held against a kgitops that lets everything through."""
    binding = binding_of(
        {
            "principal": "User:a",
            "host": "*",
            "permission": PermissionType.ALLOW,
            "operations": [Operation.ALTER],
            "resource": {"type": ResourceType.CLUSTER, "name": "x", "patternType": "literal"},
        }
    )
    brokers = answer(kafka_cluster, req.CreateAclRequest(binding=binding))
    assert brokers.startswith(ErrorCode.INVALID_REQUEST.name)
    with pytest.raises(AssertionError, match="kgitops says nothing"):
        agree(binding, [], brokers)
