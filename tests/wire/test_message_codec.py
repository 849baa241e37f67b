"""Every message in every version: what is written is read again, and nothing else is read."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec import Struct
from wire.message_values import ALL, message_values

from kgitops.wire import messages
from kgitops.wire.codec import read, read_part, write
from kgitops.wire.definitions import definition, names
from kgitops.wire.errors import MalformedError, UnwritableMessageError
from kgitops.wire.messages import message_class


def test_every_version_is_known() -> None:
    """190 messages of Kafka 4.3, and 16 versions of KIP-4's time that it no longer announces."""
    assert len(names()) == 190
    assert len(ALL) == 641


def test_defaults_are_read_as_they_were_written() -> None:
    """Each message in each version, with nothing set in it."""
    for name, version in ALL:
        value = message_class(name)()
        again = read(type(value), version, bytes(write(value, version)))
        assert again == value, (name, version)


@given(data=st.data(), chosen=st.sampled_from(ALL))
def test_values_are_read_as_they_were_written(data: st.DataObject, chosen: tuple[str, int]) -> None:
    """Any value of any message; cut anywhere, or with anything behind it, it is malformed."""
    name, version = chosen
    value: Struct = data.draw(message_values(name, version))
    written = bytes(write(value, version))
    assert read(type(value), version, written) == value
    assert read_part(type(value), version, b"--" + written + b"-", 2) == (value, len(written) + 2)
    with pytest.raises(MalformedError, match=f"{name} version {version}: 1 bytes follow it"):
        read(type(value), version, written + b"-")
    if written:
        cut = data.draw(st.integers(0, len(written) - 1))
        with pytest.raises(MalformedError, match=f"{name} version {version}"):
            read(type(value), version, written[:cut])


@given(data=st.binary(max_size=64), chosen=st.sampled_from(ALL))
def test_any_bytes_are_a_message_or_malformed(data: bytes, chosen: tuple[str, int]) -> None:
    """No other error comes out, and what is read takes memory of the order of the data."""
    name, version = chosen
    try:
        value, after = read_part(message_class(name), version, data)
    except MalformedError:
        return
    assert after <= len(data)
    assert type(value).__name__ == name


CREATE = messages.CreateTopicsRequest


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it ends early"),
        (b"\x00", "Topics is null"),
        (b"\x03", "it ends in Topics"),
        (b"\xff\xff\xff\xff\x0f", "a length is 4294967295"),
        (b"\xff\xff\xff\xff\xff\x0f", "a length takes more than five bytes"),
        (b"\x02\x02", "it ends in Name"),
        (b"\x02\x00", "Name is null"),
        (b"\x02\x02\xff" + bytes(20), "a text is not UTF-8"),
        (b"\x02\x30" + bytes(20), "it ends in Name"),
        (b"\x01" + bytes(5) + b"\x01\x00\x09\x00", "it ends in a tagged field"),
        (b"\x01" + bytes(5) + b"\x01\x00\x01\x00-", "1 bytes follow it"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, problem: str) -> None:
    """One sentence, with the message and its version."""
    with pytest.raises(MalformedError, match=f"^CreateTopicsRequest version 7: {problem}"):
        read(CREATE, 7, data)


def test_an_array_is_not_allocated_before_it_is_there() -> None:
    """An array of 2³¹ elements in a frame of six bytes."""
    with pytest.raises(MalformedError, match="it ends in Topics"):
        read(messages.MetadataRequest, 4, b"\x7f\xff\xff\xff\x00\x00")


def test_versions_that_nobody_knows_are_not_read_or_written() -> None:
    """Below and above those of the tables."""
    for version in (-1, 8, 32767):
        with pytest.raises(MalformedError, match="CreateTopicsRequest has no version"):
            read(CREATE, version, b"")
        with pytest.raises(MalformedError, match="CreateTopicsRequest has no version"):
            write(CREATE(), version)


def test_nothing_that_is_set_gets_lost_in_an_older_version() -> None:
    """``validateOnly`` began with version 1 of CreateTopics, and is not ignorable."""
    assert write(CREATE(validate_only=False), 0)
    with pytest.raises(UnwritableMessageError, match="has no validateOnly in version 0"):
        write(CREATE(validate_only=True), 0)


@pytest.mark.parametrize(
    "value",
    [
        CREATE(timeout_ms=2**31),
        CREATE(topics=None),
        CREATE(topics=[CREATE.CreatableTopic(name="x" * 40_000)]),
        CREATE(topics=[CREATE.CreatableTopic(name="\ud800")]),
    ],
    ids=["number", "null", "long", "surrogate"],
)
def test_what_has_no_bytes_is_not_written(value: Struct) -> None:
    """Numbers out of range, nulls, texts that are too long or none."""
    with pytest.raises(UnwritableMessageError):
        write(value, 4)


def test_unknown_tags_are_passed_over() -> None:
    """A newer client may send what this version has no field for (KIP-482)."""
    data = b"\x01\x00\x00\x00\x07\x01\x02\x63\x03abc\x64\x00"
    assert read(CREATE, 7, data) == CREATE(timeout_ms=7, validate_only=True)


def test_the_old_versions_of_kip_4_are_known() -> None:
    """CreateTopics v0 has no ``validate_only``; KIP-896 took it out of Kafka."""
    assert definition("CreateTopicsRequest").versions == "2-7"
    assert definition("CreateTopicsRequest").readable == range(8)
    topic = CREATE.CreatableTopic(name="a", num_partitions=1, replication_factor=1)
    written = write(CREATE(topics=[topic], timeout_ms=5), 0)
    assert written == bytes.fromhex("00000001000161000000010001000000000000000000000005")
