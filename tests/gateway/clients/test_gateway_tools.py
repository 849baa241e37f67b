"""Kafka's own tools with ``--command-config`` of a member of ``emea.sales``."""

import re
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance
from java_classes import compile_java
from serve.clients.downloads import HERE
from serve.clients.reports import output
from serve.clients.tool_calls import (
    ACLS,
    ALL_GROUPS,
    CONFIGS,
    CONSUMER,
    GROUPS,
    OFFSETS,
    PRODUCER,
    SHARE_CONSUMER,
    SHARE_GROUPS,
    TOPICS,
    VERSIONS,
    ToolCall,
)

from kgitops.sandbox.jvm import LOG4J2
from kgitops.sandbox.sandbox import prepare_jvm

pytestmark = [pytest.mark.kafka("gateway-clients"), pytest.mark.xdist_group("gateway-clients")]

_END = re.compile(r"^=== exit (\d+)\n", re.MULTILINE)
_OF = "--entity-type topics --entity-name @orders"
_REFUSED = r"(?s)PolicyViolation.*change their manifests"
CALLS = (
    ToolCall("topics", TOPICS, "--list", r"(?m)^@orders$"),
    ToolCall(
        "topics",
        TOPICS,
        "--describe --topic @orders",
        r"Topic: @orders\s+TopicId: \S{22}\s+PartitionCount: 3\s+ReplicationFactor: 2",
    ),
    ToolCall("topics", TOPICS, "--describe --topic none", "does not exist", 1),
    ToolCall("records", PRODUCER, "--topic @orders", stdin=("one", "two", "three")),
    ToolCall(
        "records",
        CONSUMER,
        "--topic @orders --from-beginning --max-messages 3 --group @tools --timeout-ms 30000",
        r"(?s)(one|two|three)\n(one|two|three)\n(one|two|three)\n.*Processed a total of 3 messages",
    ),
    ToolCall(
        "records",
        CONSUMER,
        "--include @orders|sales-stream --from-beginning --max-messages 3 --timeout-ms 30000 "
        "--group @tools-new --command-property group.protocol=consumer",
        "Processed a total of 3 messages",
    ),
    ToolCall("records", OFFSETS, "--topic @orders", r"@orders:0:\d+\n@orders:1:\d+\n@orders:2:\d+"),
    ToolCall("groups", GROUPS, "--list", r"(?m)^@tools$"),
    ToolCall("groups", GROUPS, "--list --state", r"@tools\s+Empty"),
    ToolCall("groups", ALL_GROUPS, "--list", r"@tools\s+Classic\s+consumer"),
    ToolCall("groups", ALL_GROUPS, "--list", r"@tools-new\s+Consumer\s+consumer"),
    ToolCall("groups", GROUPS, "--describe --group @tools", r"@tools\s+@orders\s+\d\s+\d+\s+\d+"),
    ToolCall("groups", GROUPS, "--describe --group @tools --state", r"@tools.*Empty"),
    ToolCall("groups", GROUPS, "--describe --group @tools-none", "Group @tools-none not found"),
    ToolCall(
        "groups",
        GROUPS,
        "--reset-offsets --group @tools --topic @orders --to-earliest --execute",
        r"@tools\s+@orders\s+0\s+0",
    ),
    ToolCall("groups", GROUPS, "--delete --group @tools", "was successful"),
    ToolCall(
        "groups",
        SHARE_GROUPS,
        "--reset-offsets --group @tools-share --topic @orders --to-earliest --execute",
        r"@tools-share\s+@orders\s+0\s+0",
    ),
    ToolCall(
        "records",
        SHARE_CONSUMER,
        "--topic @orders --group @tools-share --max-messages 3 --timeout-ms 30000",
        "Processed a total of 3 messages",
    ),
    ToolCall("groups", SHARE_GROUPS, "--list", r"(?m)^@tools-share$"),
    ToolCall("groups", SHARE_GROUPS, "--describe --group @tools-share", r"@tools-share\s+@orders"),
    ToolCall("configs", CONFIGS, f"--describe {_OF} --all", r"min\.insync\.replicas="),
    ToolCall("cluster", VERSIONS, "", r"Produce\(0\)"),
    ToolCall(
        "refused",
        TOPICS,
        "--create --topic new --partitions 1 --replication-factor 1",
        _REFUSED,
        1,
    ),
    ToolCall("refused", TOPICS, "--alter --topic @orders --partitions 9", _REFUSED, 1),
    ToolCall("refused", TOPICS, "--delete --topic @orders", _REFUSED, 1),
    ToolCall("refused", CONFIGS, f"--alter {_OF} --add-config retention.ms=1", _REFUSED, 1),
    ToolCall("refused", ACLS, "--list", "does not support DESCRIBE_ACLS", 1),
    # Java's clients ask for the APIs again after the login, and get those of who they are.
    ToolCall("outside", ACLS, "--list", "Current ACLs for resource"),
)


def test_tools(entrance: Entrance, tmp_path: Path) -> None:
    """One command line after the other in one JVM."""
    login = entrance.login("sales-app")
    calls = [call for call in CALLS if entrance.is_gateway or call.family != "refused"]
    names = {"@orders": login.topic("by-tools"), "@tools": login.group("tools")}

    def named(text: str) -> str:
        for local, name in names.items():
            text = text.replace(local, name)
        return text

    sources = {"Tools": (HERE / "java" / "Tools.java").read_text("utf-8")}
    jvm = prepare_jvm(tmp_path / "jvm", [compile_java(sources, tmp_path)], lambda _: None)
    jvm.log4j2.write_text(LOG4J2)
    outside = entrance.login("admin")

    def connection(call: ToolCall) -> tuple[str, ...]:
        file = (outside if call.family == "outside" else login).file
        return ("--bootstrap-server", entrance.servers, "--command-config", str(file))

    lines = tmp_path / "lines"
    lines.write_text(
        "".join(
            "\t".join(
                (call.main, "|".join(call.stdin), *connection(call), *named(call.words).split())
            )
            + "\n"
            for call in calls
        )
    )
    parts = _END.split(output(jvm.command("Tools", str(lines)), cwd=tmp_path))
    told = dict(enumerate(zip(parts[::2], parts[1::2], strict=False)))
    problems = []
    for index, call in enumerate(calls):
        text, status = told.get(index, ("it did not run", "-1"))
        if int(status) != call.exit or not re.search(named(call.says), text):
            problems.append(f"{call.name}: exit {status}, and it says: {text.strip()[:600]}")
    assert not problems, "\n".join(problems)
