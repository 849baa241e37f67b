"""Kafka's own generated classes read and write the same bytes, in every version of 4.3."""

import os
import struct
import subprocess
from collections.abc import Iterator
from typing import IO

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from java_classes import compile_java
from other_processes import running
from wire.message_values import KAFKAS, message_values

from kgitops.sandbox.jars import fetch_libs
from kgitops.sandbox.jvm import find_java
from kgitops.wire.codec import write

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("java-messages")]

ECHO = """
import java.io.*;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.*;
public class Echo {
    public static void main(String[] words) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        while (true) {
            String name;
            try { name = in.readUTF(); } catch (EOFException e) { return; }
            short version = in.readShort();
            byte[] data = new byte[in.readInt()];
            in.readFully(data);
            ByteBuffer bytes = ByteBuffer.wrap(data);
            Message message = (Message) messageClass(name)
                .getConstructor(org.apache.kafka.common.protocol.Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(bytes), version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer again = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(again), cache, version);
            out.writeInt(bytes.remaining());
            out.writeInt(again.capacity());
            out.write(again.array());
            out.flush();
        }
    }
    static Class<?> messageClass(String name) throws Exception {
        String full = "org.apache.kafka.common.message." + name;
        try { return Class.forName(full + "Data"); }
        catch (ClassNotFoundException e) { return Class.forName(full); }
    }
}
"""


@pytest.fixture(scope="module")
def kafka_messages(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    """A Java process that reads messages with Kafka's classes, and writes them again."""
    classes = compile_java({"Echo": ECHO}, tmp_path_factory.mktemp("echo"))
    jars = [*fetch_libs(lambda _: None).glob("*.jar"), classes]
    words = [str(find_java()), "-cp", os.pathsep.join(map(str, jars)), "Echo"]
    with running(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as java:
        yield java
        assert java.stdin
        java.stdin.close()


@pytest.mark.parametrize(("name", "version"), KAFKAS, ids=str)
@settings(max_examples=3)
@given(data=st.data())
def test_java_reads_what_is_written_and_writes_the_same(
    kafka_messages: "subprocess.Popen[bytes]", name: str, version: int, data: st.DataObject
) -> None:
    """All of it, to the last byte."""
    written = bytes(write(data.draw(message_values(name, version)), version))
    assert kafka_messages.stdin
    assert kafka_messages.stdout
    encoded = name.encode()
    head = struct.pack(f">H{len(encoded)}shi", len(encoded), encoded, version, len(written))
    kafka_messages.stdin.write(head + written)
    kafka_messages.stdin.flush()
    left, size = struct.unpack(">ii", exactly(kafka_messages.stdout, 8))
    assert left == 0
    assert exactly(kafka_messages.stdout, size) == written


def exactly(stream: IO[bytes], size: int) -> bytes:
    """The next bytes; the process has ended if there are fewer."""
    read = stream.read(size)
    assert len(read) == size, "the Java process ended: it could not read a message"
    return read
