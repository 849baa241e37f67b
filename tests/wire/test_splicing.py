"""Splicers change what the codec would change, and leave every other byte as it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec import Struct, structs
from wire.message_values import ALL, message_values

from kgitops.wire.codec import read, write
from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition, version_range
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import message_class
from kgitops.wire.splicing import Hook, make_splicer


class Unchanged:
    """Hooks that leave all as it is."""

    def text(self, raw: bytes) -> bytes | None:
        return raw

    def number(self, given: int, raw: bytes) -> bytes | None:
        return raw


class Changing(Unchanged):
    """Hooks that drop texts of two characters and lengthen the others."""

    def text(self, raw: bytes) -> bytes | None:
        if len(raw.decode()) == 2:
            return None
        return b"<" + raw + b"x" * 130 + b">"


def texts(message: MessageDefinition) -> Mapping[tuple[str, ...], Hook]:
    """A hook for every text of a message."""
    found: dict[tuple[str, ...], Hook] = {}

    def look(fields: Sequence[FieldDefinition], path: tuple[str, ...]) -> None:
        for field in fields:
            here = (*path, field.name)
            inner = message.struct_fields(field)
            if inner is not None:
                look(inner, here)
            elif "string" in field.type:
                found[here] = Hook("text")

    look(message.fields, ())
    return found


def changed(
    message: MessageDefinition, version: int, value: Struct, fields: Sequence[FieldDefinition]
) -> Struct | None:
    """The value as ``Changing`` makes it; None if it is dropped."""
    new: dict[str, Any] = {}
    dropped = False
    for field in fields:
        old = getattr(value, field.attribute)
        inner = message.struct_fields(field)
        if old is None or version not in version_range(field.versions):
            continue
        if inner is not None and field.element is not None:
            kept = [changed(message, version, item, inner) for item in old]
            new[field.attribute] = [item for item in kept if item is not None]
        elif inner is not None:
            made = changed(message, version, old, inner)
            dropped |= made is None
            new[field.attribute] = old if made is None else made
        elif field.type == "[]string":
            items = [Changing().text(item.encode()) for item in old]
            new[field.attribute] = [item.decode() for item in items if item is not None]
        elif field.type == "string":
            text = Changing().text(old.encode())
            dropped |= text is None
            new[field.attribute] = (text or b"").decode()
    return None if dropped else structs.replace(value, **new)


@given(data=st.data(), chosen=st.sampled_from(ALL))
def test_a_splicer_changes_what_the_codec_would_change(
    data: st.DataObject, chosen: tuple[str, int]
) -> None:
    """Any value of any version: renamed and dropped in the bytes as in the value."""
    name, version = chosen
    message = definition(name)
    splice = make_splicer(message, version, texts(message))
    value = data.draw(message_values(name, version))
    written = bytes(write(value, version))
    if splice is None:
        return
    before = data.draw(st.binary(max_size=3))
    assert b"".join(splice(before + written, len(before), Unchanged())) == written
    expected = changed(message, version, value, message.fields)
    spliced = b"".join(splice(before + written, len(before), Changing()))
    if expected is None:  # a field outside of all arrays was emptied, which the oracle does not do
        read(message_class(name), version, spliced)
    else:
        present = read(message_class(name), version, bytes(write(expected, version)))
        assert read(message_class(name), version, spliced) == present
        # The codec leaves out the tag of an array that has become empty, a splicer keeps it.
        assert len(spliced) >= len(write(present, version))


@given(data=st.data(), chosen=st.sampled_from(ALL))
def test_what_is_cut_off_is_refused_or_passed_on(
    data: st.DataObject, chosen: tuple[str, int]
) -> None:
    """A splicer never reads beyond the end, and never raises anything but ``MalformedError``."""
    name, version = chosen
    message = definition(name)
    splice = make_splicer(message, version, texts(message))
    if splice is None:
        return
    written = bytearray(write(data.draw(message_values(name, version)), version))
    if written and data.draw(st.booleans()):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(written[: data.draw(st.integers(0, len(written)))])
    try:
        passed = b"".join(splice(cut, 0, Unchanged()))
    except MalformedError:
        return
    assert passed == cut


def test_a_tagged_field_that_nobody_knows_stays() -> None:
    """A newer broker's tag beside the one that is changed."""
    message = definition("FetchResponse")
    kind = message_class("FetchResponse")
    endpoint = kind.NodeEndpoint(node_id=7, host="broker", port=9092)
    written = bytes(write(kind(node_endpoints=[endpoint]), 16))
    hook = Hook("advertise", given="NodeId", port="Port")
    splice = make_splicer(message, 16, {("NodeEndpoints", "Host"): hook})
    assert splice is not None

    class Addresses:
        def advertise(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
            return (b"gateway.example", port + node_id) if host == b"broker" else (host, port)

    head, body = written.split(b"\x07broker")
    head, tags = head[:-8], head[-8:]
    assert tags[0] == 1, "one tag"
    unknown = b"\x63\x03abc"
    extended = head + bytes([2]) + tags[1:] + b"\x07broker" + body + unknown
    spliced = b"".join(splice(extended, 0, Addresses()))
    assert spliced.endswith(unknown)
    assert b"broker" not in spliced
    found = read(kind, 16, spliced).node_endpoints[0]
    assert (found.host, found.port, found.node_id) == ("gateway.example", 9099, 7)


@pytest.mark.parametrize("count", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe"])
def test_a_count_without_elements_is_refused(count: bytes) -> None:
    """Neither is it walked over two thousand million times, nor may it be negative."""
    message = definition("MetadataRequest")
    splice = make_splicer(message, 1, {("Topics", "Name"): Hook("text")})
    assert splice is not None
    with pytest.raises(MalformedError):
        splice(count, 0, Unchanged())
