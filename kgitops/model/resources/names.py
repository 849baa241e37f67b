"""Kafka's naming rules: topics and principals."""

import re

MAX_TOPIC_NAME = 249
MAX_TEXT = 2**15 - 1
"""How many bytes of UTF-8 a text has at most in Kafka's requests and records."""
REGISTRY_TOPIC = "__kgitops"
INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
ALL_INTERNAL = INTERNAL_TOPICS | {REGISTRY_TOPIC}
"""The topics that brokers own, and the one in which kgitops keeps its registry."""
_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_PRINCIPAL = re.compile(r"[^:\s]+:.+", re.DOTALL)


def is_internal(topic: str) -> bool:
    """Whether brokers own the topic (P201-20), or kgitops keeps its registry there."""
    return topic in ALL_INTERNAL


def topic_name_problem(name: str) -> str | None:
    """What Kafka would say against ``name`` (A4-11), or None; a second sentence part says why."""
    if not name:
        return "a topic name can't be empty"
    if name in (".", ".."):
        return f"a topic can't be named {name!r}"
    if len(name) > MAX_TOPIC_NAME:
        return f"the topic name has {len(name)} characters, Kafka allows {MAX_TOPIC_NAME}"
    if not _LEGAL_TOPIC.fullmatch(name):
        illegal = sorted(set(re.sub(r"[a-zA-Z0-9._-]", "", name)))
        return f"the topic name {name!r} contains {', '.join(map(repr, illegal))}"
    return None


def text_problem(text: str) -> str | None:
    """Why no request to Kafka can hold ``text``, or None; a broker breaks the connection on it."""
    length = len(text.encode())
    return f"has {length:,} bytes, Kafka allows {MAX_TEXT:,}" if length > MAX_TEXT else None


def collision_key(topic: str) -> str:
    """Equal for two topic names whose metric names would collide (A4-11): ``.`` reads as ``_``."""
    return topic.replace(".", "_")


def is_principal(text: str) -> bool:
    """Whether ``text`` is ``Type:name``, as every authorizer of Kafka expects."""
    return bool(_PRINCIPAL.fullmatch(text))
