"""The bytes of an answer to DescribeConfigs, version 4.

Each topic comes with some thirty configs, of which few are its own. kafka-python makes objects of
all that, and so does kgitops.wire, which takes several times as long as to skip it.
"""

from collections.abc import Iterator
from typing import NamedTuple

VERSION = 4
TOPIC_CONFIG = 1  # org.apache.kafka.clients.admin.ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG

_RESULTS_AT = 4  # behind throttle_time_ms
_TOPIC = 2
_NONE = 1  # the number of an empty list
_MORE = 0x80  # in a byte of a number: another one follows


class DescribedConfig(NamedTuple):
    """A config of a resource, with Kafka's code for its source."""

    name: str
    value: str | None
    source: int
    is_sensitive: bool


class DescribedResource(NamedTuple):
    """A resource with its configs, or the error with which it was not described."""

    type: int
    name: str
    error_code: int
    error_message: str | None
    configs: list[DescribedConfig]


def described_resources(data: bytes) -> Iterator[DescribedResource]:
    """Read the resources; of a topic only the configs that it sets itself.

    Raises:
        ValueError: the answer can't be read.
    """
    try:
        count, at = _size(data, _RESULTS_AT)
        for _ in range(count):
            resource, at = _resource(data, at)
            yield resource
    except IndexError as error:
        raise ValueError("it ends too early") from error
    if _skip_tags(data, at) != len(data):
        raise ValueError("it does not end where it should")


def _resource(data: bytes, at: int) -> tuple[DescribedResource, int]:
    error_code = int.from_bytes(data[at : at + 2], signed=True)
    message, at = _text(data, at + 2)
    kind = data[at]
    name, at = _text(data, at + 1)
    count, at = _size(data, at)
    if count < 0 or not name:
        raise ValueError("a resource has no name, or no configs")
    configs = []
    for _ in range(count):
        value_at = _skip_text(data, at)
        end = _skip_text(data, value_at)
        source = data[end + 1]
        if kind != _TOPIC or source == TOPIC_CONFIG:
            (key, _), (value, _) = _text(data, at), _text(data, value_at)
            if not key:
                raise ValueError("a config has no name")
            configs.append(DescribedConfig(key, value, source, bool(data[end + 2])))
        # No synonyms, a type, no documentation, no tags: so it is unless a broker adds something.
        if data[end + 3] == _NONE and data[end + 5 : end + 7] == b"\0\0":
            at = end + 7
        else:
            at = _skip_rest(data, end + 3)
    resource = DescribedResource(kind, name, error_code, message, configs)
    return resource, _skip_tags(data, at)


def _skip_rest(data: bytes, at: int) -> int:
    """Skip the synonyms of a config, its type, documentation and tags."""
    synonyms, at = _size(data, at)
    for _ in range(synonyms):
        at = _skip_text(data, _skip_text(data, at))
        at = _skip_tags(data, at + 1)
    return _skip_tags(data, _skip_text(data, at + 1))


def _size(data: bytes, at: int) -> tuple[int, int]:
    """The length of a text or list, and where it begins; -1 for null."""
    size, at = _number(data, at)
    return size - 1, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) >= _MORE:
        number |= (byte - _MORE) << shift
        shift += 7
        at += 1
    return number | byte << shift, at + 1


def _text(data: bytes, at: int) -> tuple[str | None, int]:
    size, at = _size(data, at)
    if size < 0:
        return None, at
    return data[at : at + size].decode(), at + size


def _skip_text(data: bytes, at: int) -> int:
    size = data[at]
    if size < _MORE:  # nearly all are short
        return at + size if size else at + 1
    size, at = _size(data, at)
    return at + size


def _skip_tags(data: bytes, at: int) -> int:
    if not data[at]:  # nobody has sent any so far
        return at + 1
    count, at = _number(data, at)
    for _ in range(count):
        _, at = _number(data, at)
        size, at = _number(data, at)
        at += size
    return at
