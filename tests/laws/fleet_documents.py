"""Random projects with several virtual clusters, as their documents would be written.

Names come from small pools and are prefixes of each other, so that everything meets: `a` and `a.b`,
links that hide topics, a user who moves, a virtual cluster `a.far` of another project.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

VIRTUAL_CLUSTERS = ("a", "a.b", "b")
FOREIGN = "a.far"
FOREIGN_USER = "User:far"
OLD = ("old.stream", "old.table")
"""Physical topics that were there before virtual clusters, and that the project declares."""
ADOPTED = "etl"
"""A global group that has committed offsets."""
LOCAL_TOPICS = ("Orders", "Log")
LINKS = ("Orders", "Ord", "Log", "stream", OLD[0])
USERS = ("jane", "User:joe")
PASSWORD = "TENANTS_PASSWORD"  # noqa: S105 (a variable's name)
"""The environment variable with the password of all who log in."""
CLIENTS = ("batch", "cron")
RATES = (1024, 2048, 4096)
TOPIC_NAMES = (
    ("Orders", "literal"),
    ("Ord", "literal"),
    ("Ord", "prefixed"),
    ("*", "literal"),
    ("stream", "literal"),
    ("old.", "prefixed"),
)
GROUP_NAMES = (("g", "literal"), ("g", "prefixed"), ("*", "literal"))

Document = dict[str, Any]

_seldom = st.integers(0, 5).map(lambda number: number == 5)
_half = st.booleans()


def document(kind: str, name: str, spec: Mapping[str, object], at: str | None = None) -> Document:
    """A document; ``at`` is the virtual cluster that its metadata names."""
    metadata = {"name": name} | ({"virtualCluster": at} if at else {})
    return {"apiVersion": "kgitops/v1", "kind": kind, "metadata": metadata, "spec": dict(spec)}


def a_topic(name: str, at: str | None = None, **spec: object) -> Document:
    return document("Topic", name, {"partitions": 3, "replicationFactor": 1, **spec}, at)


def uid_of(name: str) -> str:
    """The identity of the project with this name."""
    return f"0c6f0a52-98f3-4b65-8f1c-{len(name):012}"


def write(folder: Path, name: str, documents: Iterable[Document]) -> None:
    """The project's file, and all its documents in one file of manifests."""
    (folder / "manifests").mkdir(parents=True, exist_ok=True)
    project = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": name, "uid": uid_of(name)},
        "spec": {
            "manifests": ["manifests"],
            "principal": "User:kgitops",
            "clusters": {"local": {"url": "embedded:", "brokers": 3}},
            "safety": {"maxDeletes": 1000, "maxDeletePercent": 100},
        },
    }
    (folder / "kgitops.yaml").write_text(json.dumps(project))
    text = "\n---\n".join(json.dumps(item) for item in documents)
    (folder / "manifests" / "all.yaml").write_text(text)


FOREIGN_PROJECT = (
    document(
        "VirtualCluster",
        FOREIGN,
        {"members": {"users": [FOREIGN_USER], "groups": ["far"]}, "deletionPolicy": "Delete"},
    ),
    a_topic("Shared", FOREIGN, shareWith=list(VIRTUAL_CLUSTERS), deletionPolicy="Delete"),
    document(
        "TopicLink", "Again", {"target": {"virtualCluster": FOREIGN, "topic": "Shared"}}, FOREIGN
    ),
    document(
        "Acl",
        "far",
        {
            "virtualCluster": FOREIGN,
            "principal": FOREIGN_USER,
            "permission": "Allow",
            "operations": ["Read", "Write"],
            "resource": {"type": "topic", "name": "S", "patternType": "prefixed"},
        },
    ),
    document(
        "ClientQuota",
        "far",
        {
            "entity": {"virtualCluster": FOREIGN, "user": "far"},
            "quotas": {"producer_byte_rate": 77},
        },
    ),
)


@st.composite
def fleets(draw: st.DrawFn, partitions: int) -> list[Document]:
    """A project. It is mostly one that can be applied, and ``partitions`` never become fewer."""
    names = draw(st.lists(st.sampled_from(VIRTUAL_CLUSTERS), unique=True, min_size=1))
    found = [a_topic(name, deletionPolicy="Orphan") for name in OLD]
    members = {name: draw(_members()) for name in names}
    for pool, key in ((USERS, "users"), (CLIENTS, "clientIds")):
        for member in pool:
            home = draw(st.sampled_from([None, *names, *names]))
            if home is None:
                continue
            if key == "users" and draw(_half):
                found.append(draw(logins(member.removeprefix("User:"), home)))
            if key == "users" and draw(_half):
                members[home].setdefault(key, []).append(draw(_user(member)))
                continue
            field = "user" if key == "users" else "clientId"
            found.append(
                document("VirtualClusterBinding", member, {field: member, "move": True}, home)
            )
    if draw(_half):
        adopting = {"name": draw(st.sampled_from(("g", ADOPTED))), "adopt": ADOPTED}
        home = draw(st.sampled_from(names))
        groups = [name for name in members[home].get("groups", []) if name != adopting["name"]]
        members[home]["groups"] = [*groups, adopting]
    for name in names:
        spec: Document = {"members": members[name], "deletionPolicy": "Delete"}
        if draw(_half):
            spec["lowering"] = {
                "capLowering": draw(st.sampled_from(("clamp", "divide", "none"))),
                "denyWins": draw(_half),
            }
        found.append(document("VirtualCluster", name, spec))
    found += _topics_and_links(draw, names, partitions)
    found += _acls(draw, names)
    found += _quotas(draw, names)
    return draw(st.permutations(found))


@st.composite
def logins(draw: st.DrawFn, name: str, at: str | None = None) -> Document:
    """A User document."""
    mechanisms = draw(st.sets(st.sampled_from(("SCRAM-SHA-256", "SCRAM-SHA-512")), min_size=1))
    scram = [
        {
            "mechanism": mechanism,
            "iterations": draw(st.sampled_from((4096, 4097))),
            "password": {"env": PASSWORD},
            "version": draw(st.sampled_from(("1", "2"))),
        }
        for mechanism in sorted(mechanisms)
    ]
    policy = draw(st.sampled_from(("Delete", "Orphan")))
    return document("User", name, {"scram": scram, "deletionPolicy": policy}, at)


@st.composite
def _members(draw: st.DrawFn) -> Document:
    return {
        "mode": draw(st.sampled_from(("authoritative", "additive"))),
        "groups": draw(st.lists(st.sampled_from(("g", "h")), unique=True)),
        "transactionalIds": draw(st.lists(st.sampled_from(("t", "u")), unique=True)),
    }


@st.composite
def _user(draw: st.DrawFn, member: str) -> Document:
    user: Document = {"principal": member, "move": True}
    if draw(_half):
        user["copyAclsFrom"] = "kafka-cluster"
        if draw(_seldom):
            user["removeOldAclsFrom"] = "kafka-cluster"
    return user


def _topics_and_links(draw: st.DrawFn, names: Sequence[str], partitions: int) -> list[Document]:
    topics = [
        (name, topic)
        for name in names
        for topic in draw(st.lists(st.sampled_from(LOCAL_TOPICS), unique=True))
    ]
    shared: dict[tuple[str, str], set[str]] = {key: set() for key in topics}
    found = []
    for name in names:
        for link in draw(st.lists(st.sampled_from(LINKS), unique=True)):
            if (name, link) in shared:
                continue
            at, topic = draw(
                st.sampled_from([*((None, name) for name in OLD), (FOREIGN, "Shared"), *topics])
            )
            if (at, topic) in shared and at != name:
                shared[at, topic].add(name)
            target = {"virtualCluster": at, "topic": topic} if at else {"physicalTopic": topic}
            found.append(document("TopicLink", link, {"target": target}, name))
    for (name, topic), others in shared.items():
        policy = draw(st.sampled_from(("Delete", "Orphan")))
        more: Document = {"partitions": partitions, "deletionPolicy": policy}
        if draw(_half):
            more["configs"] = {"retention.ms": draw(st.sampled_from((1000, 2000)))}
        if others:
            more["shareWith"] = sorted(others)
        found.append(a_topic(topic, name, **more))
    return found


def _acls(draw: st.DrawFn, names: Sequence[str]) -> list[Document]:
    found = {}
    for _ in range(draw(st.integers(0, 6))):
        scope, wide = draw(
            st.sampled_from(
                [(name, "literal") for name in names] * 3
                + [("a", "prefixed"), ("*", "literal"), (None, "literal")]
            )
        )
        kind, operation = draw(
            st.sampled_from(
                [
                    ("topic", name)
                    for name in ("Read", "Write", "All", "AlterConfigs", "Create", "Delete")
                ]
                + [("group", "Read"), ("group", "All"), ("transactionalId", "Write")]
            )
        )
        name, pattern = draw(st.sampled_from(TOPIC_NAMES if kind == "topic" else GROUP_NAMES))
        principal = draw(st.sampled_from(["User:jane", "User:joe", "User:*"]))
        permission = draw(st.sampled_from(["Allow"] * 5 + ["Deny"]))
        spec: Document = {
            "principal": principal,
            "permission": permission,
            "operations": [operation],
            "resource": {"type": kind, "name": name, "patternType": pattern},
        }
        if scope:
            spec |= {"virtualCluster": scope, "virtualClusterPatternType": wide}
        key = json.dumps(spec, sort_keys=True)
        found[key] = document("Acl", f"acl-{len(found)}", spec)
    if draw(_half):
        spec = {
            "principal": "User:admin",
            "permission": "Allow",
            "operations": ["AlterVirtualCluster"],
            "resource": {"type": "cluster", "name": draw(st.sampled_from(names))},
        }
        found["admin"] = document("Acl", "admin", spec)
    return list(found.values())


def _quotas(draw: st.DrawFn, names: Sequence[str]) -> list[Document]:
    """Of all eight shapes in a virtual cluster, caps, the default cap, and global ones."""
    default = {"default": True}
    users: list[object] = [None, "jane", "joe", default]
    clients: list[object] = [None, "batch", default]
    found = {}
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.sampled_from([*names, *names, None, default]))
        user, client = draw(st.sampled_from(users)), draw(st.sampled_from(clients))
        if at == default:
            user = client = None
        parts = {"virtualCluster": at, "user": user, "clientId": client}
        entity = {key: value for key, value in parts.items() if value is not None}
        if not entity:
            continue
        quotas = {
            draw(st.sampled_from(("producer_byte_rate", "consumer_byte_rate"))): draw(
                st.sampled_from(RATES)
            )
        }
        key = json.dumps(entity, sort_keys=True)
        found[key] = document(
            "ClientQuota", f"quota-{len(found)}", {"entity": entity, "quotas": quotas}
        )
    return list(found.values())
