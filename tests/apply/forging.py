"""A plan of every kind of change beside another project's objects, and forgeries of each field."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from apply.faults import FakeClock
from apply.plans import Apply, open_cluster, sealed_now
from builders import a_binding, a_desired, a_quota, a_tombstone, a_topic, a_user, an_acl, plan_of
from msgspec import Struct
from msgspec.structs import replace
from plan.plan_json import plan_from_json, sealed_to_json
from plan.worked_scenario import (
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_virtual_cluster,
    an_acl_in,
)
from strategies import SALTED
from used import used, with_users

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.desired.state import DesiredState, Safety
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.json.layout import lay_out
from kgitops.model.registry import Json
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.users import MIN_ITERATIONS, ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan

MINE, THEIRS = "11111111-mine", "22222222-theirs"
DELETE, ORPHAN, PROTECT = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN, DeletionPolicy.PROTECT
_SAFETY = Safety(max_deletes=100, max_delete_percent=100, replication_throttle=1000)
LEAST = MIN_ITERATIONS
SHA_256, SHA_512 = ScramMechanism
_CLIENT, _TXN = EntityType.CLIENT_ID, EntityType.TRANSACTIONAL_ID


def _desired(who: str, *objects: DesiredObject) -> DesiredState:
    uid = MINE if who == "mine" else THEIRS
    return a_desired(*objects, project=who, uid=uid, safety=_SAFETY)


def _before(who: str) -> list[DesiredObject]:
    """The same for both projects, so that everything of the one has its like at the other."""
    return [
        a_topic(
            f"{who}.alter", partitions=2, configs={"retention.ms": "1000", "retention.bytes": "9"}
        ),
        a_topic(f"{who}.move", assignment=((1, 2),)),
        a_topic(f"{who}.log", partitions=1),
        a_topic(f"{who}.gone", deletion_policy=DELETE),
        a_topic(f"{who}.orphan", deletion_policy=ORPHAN),
        a_topic(f"{who}.buried"),
        a_topic(f"{who}.kept"),
        a_topic(f"{who}.policy"),
        an_acl(a_binding(f"User:{who}-gone")),
        an_acl(a_binding(f"User:{who}-kept"), deletion_policy=PROTECT),
        a_quota((("user", f"{who}-alter"),), consumer_byte_rate=1024, request_percentage=5),
        a_quota((("user", f"{who}-gone"),), producer_byte_rate=7),
        a_user(f"{who}-renew", iterations=LEAST, version="1", mechanisms=ScramMechanism),
        a_user(f"{who}-kept", iterations=LEAST, version="1"),
        a_user(f"{who}-gone", iterations=LEAST, deletion_policy=DELETE),
        a_user(f"{who}-orphan", iterations=LEAST, deletion_policy=ORPHAN),
        a_virtual_cluster(f"{who}.vc"),
        a_virtual_cluster(f"{who}.old", deletion_policy=DELETE),
        a_local_topic("Inner", at=f"{who}.vc", deletion_policy=DELETE),
        a_local_topic("Stays", at=f"{who}.vc"),
        a_link("Name", f"{who}.kept", at=f"{who}.vc"),
        a_link("Drop", f"{who}.kept", at=f"{who}.vc"),
        a_member(f"User:{who}-app", at=f"{who}.vc"),
        a_member(f"User:{who}-left", at=f"{who}.vc"),
        a_member(f"{who}-client", at=f"{who}.vc", entity_type=_CLIENT),
        a_member("etl", at=f"{who}.vc", entity_type=EntityType.GROUP, deletion_policy=DELETE),
        an_acl_in(f"{who}.vc", f"User:{who}-app", "Read", "Name"),
    ]


def _after() -> list[DesiredObject]:
    return [
        a_topic("mine.alter", partitions=4, configs={"retention.ms": "2000"}),
        a_topic("mine.move", assignment=((2, 3),)),
        a_topic("mine.log", partitions=1, delete_records_before={0: 40}),
        a_topic("mine.kept"),
        a_topic("mine.policy", deletion_policy=ORPHAN),
        a_topic("mine.new", partitions=2, configs={"cleanup.policy": "compact"}),
        a_topic("found.topic"),
        an_acl(a_binding("User:mine-new")),
        an_acl(a_binding("User:mine-kept"), deletion_policy=PROTECT),
        an_acl(a_binding("User:found")),
        a_quota((("user", "mine-alter"),), consumer_byte_rate=2048, producer_byte_rate=512),
        a_quota((("user", "mine-new"),), consumer_byte_rate=1),
        a_quota((("user", "found"),), consumer_byte_rate=3),
        a_user("mine-renew", iterations=LEAST, version="2", mechanisms=[SHA_512]),
        a_user("mine-kept", iterations=LEAST, version="1"),
        a_user("mine-new", iterations=LEAST),
        a_user("found", iterations=LEAST + 1),
        a_virtual_cluster("mine.vc"),
        a_virtual_cluster("mine.new"),
        a_local_topic("Stays", at="mine.vc", configs={"retention.ms": "5"}),
        a_local_topic("Made", at="mine.new"),
        a_link("Name", "mine.alter", at="mine.vc"),
        a_link("Added", "mine.kept", at="mine.vc"),
        a_member("User:mine-app", at="mine.new", move=True),
        a_member("User:mine-in", at="mine.vc", copy="kafka-cluster", remove="kafka-cluster"),
        a_member("t", at="mine.vc", entity_type=_TXN),
        a_group("new-etl", at="mine.vc", adopt="old-etl"),
    ]


_OLD_RIGHT = a_binding("User:mine-in", "Read", "mine.kept")


class World(Struct, frozen=True):
    """A store in which both projects were applied, and an honest plan of ``mine`` for it."""

    store: bytes
    plan: Plan
    ids: Mapping[str, str]

    def opened(self, folder: Path) -> EmbeddedCluster:
        """The cluster as it was planned for, in a file of its own."""
        path = folder / "x.db"
        path.write_bytes(self.store)
        return open_cluster(path)


def make_world(folder: Path) -> World:
    """Apply both projects, let others make what nobody manages, and plan what ``mine`` wants."""
    path = folder / "world.db"
    cluster = open_cluster(path)
    for who in ("theirs", "mine"):
        apply = Apply(cluster=cluster)
        planned = plan_of(_desired(who, *_before(who)), used(cluster))
        result = replace_project(apply, who).plan(sealed_now(planned, FakeClock(), who), who)
        assert result.verdict.exit == 0, result.verdict
    for request in _others():
        (answer,) = cluster.execute([request], validate_only=False, principal="User:other")
        assert answer.ok, answer
    for who in ("theirs", "mine"):
        cluster.produce(f"{who}.log", 0, records=100, bytes_each=1)
    for group in ("old-etl", "mine.vc:etl", "theirs.vc:etl"):
        cluster.commit(group, {("found.topic", 0): 3})
    drop = a_tombstone("topic/mine.buried")
    state = with_users(cluster)
    plan = plan_of(replace(_desired("mine", *_after()), tombstones=(drop,)), state)
    assert not plan.verdict.stops, plan.verdict.reasons
    ids = _twins(state)
    cluster.close()
    return World(path.read_bytes(), plan, ids)


def replace_project(apply: Apply, who: str) -> Apply:
    """The apply as this project does it, whatever a plan says."""
    return dataclasses.replace(apply, project=_desired(who).project)


def _others() -> Sequence[req.Request]:
    found = RequestedTopicState(
        name="found.topic", topic_id=None, assignment=((1, 2), (2, 3), (3, 1)), configs={}
    )
    return [
        req.CreateTopicRequest(topic="found.topic", requested_state=found),
        req.CreateTopicRequest(topic="nobody", requested_state=replace(found, name="nobody")),
        req.CreateAclRequest(binding=a_binding("User:found")),
        req.CreateAclRequest(binding=_OLD_RIGHT),
        req.CreateAclRequest(binding=a_binding("User:nobody")),
        req.AlterClientQuotaRequest(
            entity=(("user", "found"),), quotas={"consumer_byte_rate": 3.0}
        ),
        *(
            req.SaltedCredentialsRequest(
                user=name, mechanism=SHA_512, iterations=LEAST, salted=SALTED
            )
            for name in ("found", "nobody")
        ),
    ]


def _twins(state: ClusterState) -> dict[str, str]:
    """The id, or generated name, of each of my topics to that of theirs."""
    pairs = {}
    for name, topic in state.topics.items():
        other = state.topics.get(name.replace("mine", "theirs"))
        if name.startswith("mine") and other and topic.topic_id and other.topic_id:
            pairs[topic.topic_id] = other.topic_id
    links = {who: state.virtual_clusters[f"{who}.vc"].links for who in ("mine", "theirs")}
    for name, link in links["mine"].items():
        other_link = links["theirs"].get(name)
        if other_link and link.topic_id and other_link.topic_id:
            pairs[link.topic_id] = other_link.topic_id
            pairs[link.topic] = other_link.topic
    return pairs


# Forging


class Forgery(Struct, frozen=True):
    """One value of the plan's JSON replaced."""

    path: tuple[str | int, ...]
    value: Json

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} = {json.dumps(self.value)[:80]}"

    def apply(self, document: Json) -> Json:
        """The document with the value in its place."""
        if not self.path:
            return self.value
        head, *rest = self.path
        copy = dict(document) if isinstance(document, dict) else list(document)
        copy[head] = Forgery(tuple(rest), self.value).apply(copy[head])
        return copy


def forgeries(
    value: Json, ids: Mapping[str, str], path: tuple[str | int, ...] = ()
) -> Iterator[Forgery]:
    """Every place of the JSON, leaves and wholes, each with values that somebody might want."""
    for hostile in _hostile(value, ids, path):
        if json.dumps(hostile) != json.dumps(value):
            yield Forgery(path, hostile)
    if isinstance(value, dict):
        for key in value:
            yield from forgeries(value[key], ids, (*path, key))
            yield from _renamed(value, key, path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from forgeries(item, ids, (*path, index))


_WORDS = (
    ("Protect", "Delete", "Orphan"),
    ("create", "update", "adopt", "delete", "forget"),
    ("Topic", "Acl", "ClientQuota", "TopicLink", "Broker", "User"),
    ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    ("1", "2"),
    ("Allow", "Deny"),
    ("Read", "All"),
    ("add", "remove"),
    ("configs", "partitions", "replicas"),
    ("Declared", "Exact"),
    ("authoritative", "additive"),
    ("literal", "prefixed"),
)


def _hostile(value: Json, ids: Mapping[str, str], path: tuple[str | int, ...]) -> Iterator[Json]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, 0)
        case str():
            yield from _hostile_texts(value, ids)
        case None:
            yield from _in_the_place_of_none(path)
        case list():
            yield []
            yield [*value, *value[:1]]
            yield value[1:]
        case dict():
            yield None
            yield {}
            if path[-1:] == ("password",):
                yield from ({"file": "/etc/hostname"}, {"command": ["hostname"]})


def _hostile_texts(value: str, ids: Mapping[str, str]) -> Iterator[str]:
    yield "nobody"
    yield value.replace("mine", "theirs")
    yield value.replace("mine.", "found.").replace("alter", "topic")
    for mine, theirs in ids.items():
        if mine in value:
            yield value.replace(mine, theirs)
    for words in _WORDS:
        if value in words:
            yield from words
    if value.isdecimal():
        yield from ("1", "0", "99999999")


def _in_the_place_of_none(path: tuple[str | int, ...]) -> Iterator[Json]:
    match path[-1]:
        case "undoes":
            yield from ("topic/mine.gone#1", "topic/mine.alter#1")
        case "owner":
            yield from (MINE, THEIRS)
        case "before" | "after":
            yield {
                "project": MINE,
                "topic_id": None,
                "adopted": False,
                "spent": False,
                "last_applied": {},
            }
            yield {}
        case "moved_from":
            yield from ("theirs.vc", "mine.vc")
        case "adopts":
            yield from ("old-etl", "theirs.vc:etl")
        case _:
            yield from ("theirs.alter", "nobody", {})


def _renamed(value: Mapping[str, Json], key: str, path: tuple[str | int, ...]) -> Iterator[Forgery]:
    """Another key in its place: maps have names as keys."""
    if path and path[-1] in ("last_applied", "configs", "quotas", "requested_configs", "fields"):
        rest = {name: item for name, item in value.items() if name != key}
        yield Forgery(path, rest)
        yield Forgery(path, {**rest, "min.insync.replicas": value[key]})


def honest(world: World) -> dict[str, Json]:
    """The plan as its file holds it."""
    return sealed_to_json(sealed_now(world.plan, FakeClock(), "forged"))


def resealed(document: Json) -> str:
    """The document with what anybody can compute again: summary, verdict and both digests."""
    body = {key: value for key, value in document.items() if key not in ("plan_digest", "envelope")}
    with suppress(ValueError):
        derived = plan_to_json(plan_from_json(body))
        body |= {key: derived[key] for key in ("summary", "verdict")}
    return with_digests({**body, "envelope": document["envelope"]})


def with_digests(document: Json) -> str:
    """The document with both digests computed again."""
    body = {key: value for key, value in document.items() if key not in ("plan_digest", "envelope")}
    digest = sha256(canonical_json(body))
    envelope = {key: document["envelope"][key] for key in document["envelope"] if key != "digest"}
    whole = {**body, "plan_digest": digest, "envelope": envelope}
    sealed = {**whole, "envelope": {**envelope, "digest": sha256(canonical_json(whole))}}
    return lay_out(json.dumps(sealed).encode(), 0) + "\n"
