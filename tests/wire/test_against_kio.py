"""kio, which has classes of its own for each version, reads and writes the same bytes."""

import io
import re
from importlib import import_module

import hypothesis.strategies as st
from hypothesis import given
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from wire.message_values import KAFKAS, message_values

from kgitops.wire.codec import write
from kgitops.wire.definitions import definition, snake_case

# kio makes enums, times and durations of these, and has none for other numbers.
KIOS = {
    re.compile("ErrorCode$"): st.sampled_from([int(code) for code in ErrorCode]),
    re.compile("(Ms|Timestamp)$"): st.integers(0, 10**9),
}


@given(data=st.data(), chosen=st.sampled_from(KAFKAS))
def test_kio_reads_what_is_written_and_writes_the_same(
    data: st.DataObject, chosen: tuple[str, int]
) -> None:
    """Any value of any message that Kafka 4.3 and kio both have."""
    name, version = chosen
    theirs = kios_class(name, version)
    if theirs is None:
        return
    written = bytes(write(data.draw(message_values(name, version, KIOS)), version))
    value, after = entity_reader(theirs)(written, 0)
    assert after == len(written)
    again = io.BytesIO()
    entity_writer(theirs)(again, value)
    assert again.getvalue() == written


def test_kio_has_all_messages() -> None:
    """Each version of Kafka 4.3 has been compared, but for those that kio does not know."""
    assert [chosen for chosen in KAFKAS if kios_class(*chosen) is None] == []


def kios_class(name: str, version: int) -> type | None:
    """The class that kio has for a version; None if it has not."""
    kind = definition(name).kind
    module = snake_case(definition(name).api if kind in ("request", "response") else name)
    try:
        return getattr(import_module(f"kio.schema.{module}.v{version}.{kind}"), name)
    except ModuleNotFoundError:
        return None
