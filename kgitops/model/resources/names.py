"""Names: Kafka's rules for those of topics and principals, those of machines, clusters' URLs."""

import ipaddress
import re

MAX_TOPIC_NAME = 249
MAX_TEXT = 2**15 - 1
"""The longest text in Kafka's requests and records, in bytes of UTF-8."""
REGISTRY_TOPIC = "__kgitops"
INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
ALL_INTERNAL = INTERNAL_TOPICS | {REGISTRY_TOPIC}
"""The topics that brokers own, and the one in which kgitops keeps its registry."""
URL_FORMS = "embedded:FILE, kafka://HOST:PORT, sandbox: or sandbox:NAME"
DEFAULT_SANDBOX = "sandbox"
SANDBOX_NAMES = "write up to 40 small letters, digits and -"
_SANDBOX = "sandbox:"
_SANDBOX_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_PRINCIPAL = re.compile(r"[^:\s]+:.+", re.DOTALL)


def is_internal(topic: str) -> bool:
    """True if brokers own the topic (P201-20), or kgitops keeps its registry in it."""
    return topic in ALL_INTERNAL


def topic_name_problem(name: str) -> str | None:
    """The reason why Kafka would refuse ``name`` (A4-11), or None."""
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
    """The reason why ``text`` fits no request to Kafka, or None; a broker would hang up on it."""
    length = len(text.encode())
    return f"has {length:,} bytes, Kafka allows {MAX_TEXT:,}" if length > MAX_TEXT else None


def collision_key(topic: str) -> str:
    """A key that is equal for topics whose metric names collide (A4-11): ``.`` becomes ``_``."""
    return topic.replace(".", "_")


def is_principal(text: str) -> bool:
    """True if ``text`` is ``Type:name``, as every authorizer of Kafka expects."""
    return bool(_PRINCIPAL.fullmatch(text))


def is_loopback(host: str) -> bool:
    """True if only this machine can connect to the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may lead anywhere


def is_cluster_url(text: str) -> bool:
    """True for the URL of a cluster, false for a name that the project file gives one."""
    return text.startswith(("embedded:", "kafka:", _SANDBOX))


def sandbox_name(url: str) -> str | None:
    """The name in ``sandbox:NAME``, valid or not, or the default one; None for other schemes."""
    return (url.removeprefix(_SANDBOX) or DEFAULT_SANDBOX) if url.startswith(_SANDBOX) else None


def is_sandbox_name(text: str) -> bool:
    """True if a sandbox may have this name, which becomes a folder's name."""
    return _SANDBOX_NAME.fullmatch(text) is not None
