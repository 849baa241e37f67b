"""Random projects without virtual clusters, of which a fleet compares fingerprints.

Names are those of ``strategies``, so that what others do by hand meets what is declared.
"""

from collections.abc import Sequence

from hypothesis import strategies as st
from laws.fleet_documents import Document, a_topic, document, logins
from strategies import CONFIGS, HOSTS, PRINCIPALS, QUOTA_KEYS, TOPICS, USERS

ENTITIES: Sequence[Document] = (
    {"user": "billing"},
    {"user": "billing", "clientId": {"default": True}},
    {"clientId": {"default": True}},
    {"user": "audit"},
)
RESOURCES = (
    *(("topic", name, "literal") for name in (*TOPICS, "*")),
    *(("topic", name, "prefixed") for name in ("o", "orders", "p")),
    ("group", "orders", "literal"),
)

_seldom = st.integers(0, 4).map(lambda number: number == 4)
_policies = st.sampled_from((None, "Delete", "Orphan", "Fail"))


@st.composite
def plain_projects(draw: st.DrawFn, before: Sequence[Document]) -> list[Document]:
    """What a project declares: some of what it declared before, and something new.

    What goes may leave a Tombstone behind.
    """
    kept = {_key(item): item for item in before if draw(st.integers(0, 3))}
    gone = {_key(item) for item in before} - kept.keys()
    for key, item in kept.items():
        if item["spec"].get("create") and draw(st.booleans()):
            spec = {name: value for name, value in item["spec"].items() if name != "create"}
            kept[key] = {**item, "spec": spec}
    # A topic of fewer partitions than it has is another thing to refuse, and seldom.
    least = 1 if draw(_seldom) else 3
    for name in draw(st.lists(st.sampled_from(TOPICS), unique=True)):
        item = draw(_topics(name, least))
        kept[_key(item)] = item
    for item in draw(st.lists(_acls() | _producers() | _quotas(), max_size=4)):
        kept[_key(item)] = item
    for name in draw(st.lists(st.sampled_from(USERS), unique=True, max_size=1)):
        item = draw(logins(name))
        kept[_key(item)] = item
    for key in sorted(gone - kept.keys()):
        if key.startswith("Topic/") and draw(st.booleans()):
            name = key.removeprefix("Topic/")
            spec = {"target": {"address": f"topic/{name}"}, "reason": "not needed"}
            kept[f"Tombstone/{name}"] = document("Tombstone", f"gone-{name.lower()}", spec)
    documents = [item for key, item in kept.items() if not _buries_what_is_there(key, kept)]
    return draw(st.permutations(documents))


def _buries_what_is_there(key: str, kept: dict[str, Document]) -> bool:
    kind, _, name = key.partition("/")
    return kind == "Tombstone" and f"Topic/{name}" in kept


def _key(item: Document) -> str:
    kind, spec = item["kind"], item["spec"]
    match kind:
        case "Topic":
            return f"Topic/{item['metadata']['name']}"
        case "Tombstone":
            return f"Tombstone/{spec['target']['address'].removeprefix('topic/')}"
        case _:
            return f"{kind}/{item['metadata']['name']}"


@st.composite
def _topics(draw: st.DrawFn, name: str, least: int) -> Document:
    spec: Document = {
        "partitions": draw(st.integers(least, 5)),
        "replicationFactor": draw(st.integers(1, 3)),
        "configs": {
            key: draw(st.sampled_from(values))
            for key, values in CONFIGS.items()
            if draw(st.booleans())
        },
    }
    if policy := draw(_policies):
        spec["deletionPolicy"] = policy
    return a_topic(name, **spec)


@st.composite
def _acls(draw: st.DrawFn) -> Document:
    kind, name, pattern = draw(st.sampled_from(RESOURCES))
    principal, host = draw(st.sampled_from(PRINCIPALS)), draw(st.sampled_from(HOSTS))
    operation = draw(st.sampled_from(("Read", "All") if kind == "group" else ("Read", "Write")))
    number = draw(st.integers(0, 5))
    spec = {
        "principal": principal,
        "host": host,
        "permission": draw(st.sampled_from(("Allow", "Allow", "Deny"))),
        "operations": [operation],
        "resource": {"type": kind, "name": name, "patternType": pattern},
    }
    return document("Acl", f"acl-{number}", spec)


@st.composite
def _producers(draw: st.DrawFn) -> Document:
    """A role that may give Create; a plan explains what another document revokes of it."""
    number = draw(st.integers(0, 1))
    spec: Document = {
        "principal": f"User:producer-{number}",
        "role": "producer",
        "topics": sorted(draw(st.sets(st.sampled_from(TOPICS), min_size=1, max_size=2))),
        "patternType": draw(st.sampled_from(("literal", "prefixed"))),
    }
    if draw(st.booleans()):
        spec["create"] = True
    return document("Acl", f"producer-{number}", spec)


@st.composite
def _quotas(draw: st.DrawFn) -> Document:
    number = draw(st.integers(0, len(ENTITIES) - 1))
    keys = draw(st.lists(st.sampled_from(QUOTA_KEYS), unique=True, min_size=1))
    quotas = {key: draw(st.sampled_from((1.0, 1024.0))) for key in keys}
    return document(
        "ClientQuota", f"quota-{number}", {"entity": ENTITIES[number], "quotas": quotas}
    )
