"""Whatever a tenant asks about another one's things is refused, or they are not found.

``User:a`` may do everything in ``sales`` and to ``sales``.
"""

from collections.abc import Iterator

import pytest
from cluster.clusters import BOTH, a_new_topic
from cluster.embedded.bound.foreign_requests import (
    ANSWERED,
    ENTITIES,
    GLOBAL,
    IN_HR,
    ON_HR,
    OWN,
    PEOPLE,
    PHYSICAL,
    REFUSED,
    Theirs,
    topic,
)
from cluster.embedded.bound.tenancies import (
    HR,
    SALES,
    change,
    connect,
    link,
    on_cluster,
    root,
    two_tenants,
)

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.results import OK


def with_people(compat: Compat) -> tuple[EmbeddedCluster, Theirs]:
    """A cluster where ``hr`` has a topic, a group, a transaction, ACLs and quotas of its own."""
    cluster = two_tenants(on_cluster(Operation.ALL, SALES), IN_HR, ON_HR, GLOBAL, compat=compat)
    outside, b = root(cluster), connect(cluster, "User:b")
    assert outside.create_topics([a_new_topic(PHYSICAL)])[PHYSICAL].ok
    link(cluster, HR, PEOPLE, PHYSICAL)
    change(cluster, HR, EntityType.CLIENT_ID, "hr-app")
    cluster.produce(PHYSICAL, 0, 10, 10)
    cluster.faults.hold_reassignments = True
    assert outside.alter_partition_reassignments({(PHYSICAL, 0): (3, 1)})[PHYSICAL, 0].ok
    assert b.offset_commit("hg", {(PEOPLE, 0): 4})[PEOPLE, 0].ok
    producer = b.init_producer_id("ht")
    assert b.add_offsets_to_txn("ht", producer, "hg").ok
    limits = [QuotaAlteration(entity=entity, operations=[("consumer_byte_rate", 1.0)])
              for entity in ENTITIES]  # fmt: skip
    assert all(result.ok for result in outside.alter_client_quotas(limits).values())
    topic_id = cluster.read_state().topics[PHYSICAL].topic_id
    assert topic_id is not None
    return cluster, Theirs(topic_id, producer)


@pytest.fixture(scope="module")
def people() -> dict[Compat, tuple[EmbeddedCluster, Theirs]]:
    """One such cluster of each kind, for requests that change nothing."""
    return {compat: with_people(compat) for compat in BOTH}


def belonging(image: Image) -> tuple[object, ...]:
    """All that must be as it was: what is ``hr``'s, and what is nobody's."""
    return (
        image.virtual_clusters.by_name[HR],
        sorted(set(image.virtual_clusters.by_name)),
        image.virtual_clusters.by_name[SALES].users,
        {name: found for name, found in image.topics.by_name.items() if name.startswith("emea.")},
        {name: found for name, found in image.groups.groups.items() if name.startswith("hr:")},
        {k: found for k, found in image.transactions.by_id.items() if k.startswith("hr:")},
        {acl for acl in image.acls.bindings if acl.virtual_cluster != SALES},
        image.quotas,
        image.configs,
    )


def answers(asked: object) -> Iterator[object]:
    """Every result in an answer."""
    if isinstance(asked, dict):
        for value in asked.values():
            yield from answers(value)
    elif isinstance(asked, (list, tuple)):
        for value in asked:
            yield from answers(value)
    else:
        yield asked


def refused(answer: object) -> bool:
    """Whether one result is an error."""
    error = getattr(answer, "error", None)
    return bool(error) if error is not None else not getattr(answer, "result", answer).ok


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize(
    ("call", "asks"), REFUSED, ids=[f"{i}-{call}" for i, (call, _) in enumerate(REFUSED)]
)
def test_what_is_another_tenants_is_refused_or_not_found(people, compat: Compat, call: str, asks):
    """VC-249, VC-150, VC-087, VC-040: as a member that administers its own virtual cluster."""
    cluster, theirs = people[compat]
    before = belonging(cluster.controller.image())
    try:
        told = list(answers(asks(connect(cluster), theirs)))
    except Refusal:
        told = []
    else:
        assert told, call
    assert all(map(refused, told)), told
    assert belonging(cluster.controller.image()) == before


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize(
    ("call", "asks"),
    [*ANSWERED, *OWN],
    ids=[f"{i}-{call}" for i, (call, _) in enumerate([*ANSWERED, *OWN])],
)
def test_nothing_of_another_tenants_is_told_or_touched(compat: Compat, call: str, asks):
    """VC-249, VC-116, VC-038, VC-110, VC-120."""
    cluster, theirs = with_people(compat)
    before = belonging(cluster.controller.image())
    try:
        told = repr(asks(connect(cluster), theirs))
    except Refusal as refusal:
        pytest.fail(f"{call}: {refusal.result}")
    for secret in (theirs.topic_id, *((PEOPLE, "hg", "'hr'") if (call, asks) in ANSWERED else ())):
        assert secret not in told
    assert belonging(cluster.controller.image()) == before


@pytest.mark.parametrize(
    ("call", "asks"), REFUSED, ids=[f"{i}-{call}" for i, (call, _) in enumerate(REFUSED)]
)
def test_a_claimed_client_id_opens_nothing(people, call: str, asks):
    """VC-085: a stranger calls itself as clients of ``hr`` do."""
    cluster, theirs = people[Compat.KRAFT]
    before = belonging(cluster.controller.image())
    try:
        told = list(answers(asks(connect(cluster, "User:stranger", "hr-app"), theirs)))
    except Refusal:
        told = []
    assert all(map(refused, told)), (call, told)
    assert belonging(cluster.controller.image()) == before


def test_the_tables_have_every_call():
    """VC-249: a call that is added must say here what it tells of others."""
    calls = {name for name in dir(EmbeddedAdmin) if not name.startswith("_")}
    assert {call for call, _ in (*REFUSED, *ANSWERED, *OWN)} == calls


def test_the_tables_ask_what_exists():
    """Or every refusal would prove nothing: the owner is answered."""
    cluster, theirs = with_people(Compat.KRAFT)
    b = connect(cluster, "User:b")
    assert b.metadata([PEOPLE])[0].topic_id == theirs.topic_id
    assert b.describe_configs([topic(PEOPLE)])[topic(PEOPLE)].result == OK
    assert b.offset_fetch("hg", [(PEOPLE, 0)]).offsets == {(PEOPLE, 0): 4}
    assert b.describe_groups(["hg"])["hg"].result == OK
    assert b.delete_records({(PEOPLE, 0): 1})[PEOPLE, 0].result == OK
    assert b.create_partitions([NewPartitions(topic=PEOPLE, count=9)])[PEOPLE].ok
    assert b.end_txn("ht", theirs.producer).ok
    assert b.delete_groups(["hg"])["hg"].ok
    assert b.delete_topics([PEOPLE])[PEOPLE].ok
