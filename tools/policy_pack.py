"""``docs/reference/policy-pack.md``, made from the policies themselves."""

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgitops import policies
from kgitops.model.cluster_state import Broker
from kgitops.policy.api.requests import PolicyRequest
from kgitops.policy.evaluate.bundle import kebab_case
from kgitops.policy.settings import Configured, Setting
from kgitops.policy.testing import (
    acl,
    alter_broker,
    alter_client_quota,
    alter_topic,
    alter_user_scram_credentials,
    alter_virtual_cluster,
    cluster,
    create_acl,
    create_topic,
    create_topic_link,
    create_virtual_cluster,
    delete_records,
    delete_topic,
    entity,
    labelled,
    topic,
    violation,
    virtual_cluster,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "policy-pack.md"

_ORDERS = topic("orders", 6, 3, configs={"min.insync.replicas": "2"})
_CLUSTER = cluster(
    _ORDERS,
    *[topic(f"sales.{number}", 48, 3) for number in (1, 2)],
    brokers=[Broker(id=number, rack=rack) for number, rack in enumerate("aabbc", 1)],
)
_SALES = virtual_cluster("emea.sales", users=["jane"], links={"Orders": "orders"})
_CLUSTER._simulated.deleted_topics = frozenset(  # noqa: SLF001 (no request has deleted them)
    f"old.{number}" for number in range(10)
)

EXAMPLES: Mapping[str, tuple[Mapping[str, str], PolicyRequest]] = {
    "ReplicationFactorRange": ({"min": "3", "max": "4"}, create_topic("payments", 6, 2)),
    "MinInsyncReplicasRange": (
        {"min": "2", "spare": "1"},
        alter_topic(_ORDERS, configs={"min.insync.replicas": "3"}),
    ),
    "RetentionRange": (
        {"min": "1h", "max": "30d"},
        alter_topic(_ORDERS, configs={"retention.ms": "-1"}),
    ),
    "TopicSizeCap": ({"max": "100GiB"}, create_topic("payments", 6)),
    "ShortRetentionOfBigTopics": (
        {"partitions": "48", "max": "1d"},
        create_topic("clicks", 96, configs={"retention.ms": "604800000"}),
    ),
    "PartitionRange": ({"max": "48"}, alter_topic(_ORDERS, partitions=60)),
    "PartitionBudget": (
        {"maxPerBroker": "1000", "prefixes": "sales.=100, hr.=50"},
        create_topic("sales.orders", 12),
    ),
    "NoPartitionGrowthOfKeyedTopics": (
        {"keyed": "orders, *.keyed"},
        alter_topic(_ORDERS, partitions=12),
    ),
    "RackSpread": ({}, create_topic("payments", assignments={0: [1, 2, 5]})),
    "ReservedBrokers": ({"brokers": "4, 5"}, create_topic("payments", assignments={0: [1, 3, 5]})),
    "NoManualAssignment": ({}, create_topic("payments", assignments={0: [1, 3, 5]})),
    "TopicNaming": (
        {"pattern": "[a-z]+(\\.[a-z0-9-]+)+", "example": "sales.orders"},
        create_topic("Orders_v2"),
    ),
    "RequiredLabels": (
        {"labels": "owner, team"},
        labelled(create_topic("payments"), {"team": "payments"}),
    ),
    "NamingByPrincipal": (
        {"prefixes": "User:sales-ci=sales., User:sales-ci=shop."},
        create_topic("hr.people", principal="User:sales-ci"),
    ),
    "FrozenConfigs": (
        {"keys": "retention.*, cleanup.policy", "exceptPrincipals": "User:admin"},
        alter_topic(_ORDERS, configs={"retention.ms": None}, principal="User:sales-ci"),
    ),
    "ImmutableConfigs": (
        {"keys": "cleanup.policy"},
        alter_topic(_ORDERS, configs={"cleanup.policy": "compact"}),
    ),
    "ProtectFromDeletion": (
        {"topics": "orders, payments.*", "exceptPrincipals": "User:admin"},
        delete_topic("orders"),
    ),
    "RecordDeletionLimit": ({"max": "100000"}, delete_records("orders", {0: 90_000, 1: 20_000})),
    "MassDeleteGuard": ({"max": "10"}, delete_topic("orders")),
    "DeleteOnlyIfUnused": (
        {"register": str(ROOT / "tests/pack/in-use.txt")},
        delete_topic("orders"),
    ),
    "NoWildcardPrincipals": ({}, create_acl(acl("User:*"))),
    "NoWildcardHosts": (
        {"principals": "User:partner-*", "operations": "Read, Write"},
        create_acl(acl("User:partner-a")),
    ),
    "NoAllOnCluster": (
        {},
        create_acl(acl("User:ops", "All", "kafka-cluster", resource="cluster")),
    ),
    "QuotaCeilings": (
        {"producer_byte_rate": "50MiB", "request_percentage": "50"},
        alter_client_quota(entity(user="billing"), {"producer_byte_rate": 104_857_600.0}),
    ),
    "ScramStrength": (
        {"mechanisms": "SCRAM-SHA-512", "minIterations": "8192"},
        alter_user_scram_credentials("sales-app", "SCRAM-SHA-512", 4096),
    ),
    "UserNaming": (
        {"pattern": "[a-z]+(-[a-z0-9]+)+", "reserved": "admin, kafka-*"},
        alter_user_scram_credentials("kafka-root", "SCRAM-SHA-512", 8192),
    ),
    "RequiredUserLabels": (
        {"labels": "owner"},
        alter_user_scram_credentials("sales-app", "SCRAM-SHA-512", 8192),
    ),
    "VirtualClusterNaming": (
        {"pattern": "[a-z]+(\\.[a-z0-9-]+)+", "example": "emea.sales"},
        create_virtual_cluster("Sales"),
    ),
    "MembersAreUsers": (
        {"clientIds": "legacy-*"},
        alter_virtual_cluster(_SALES, client_id="sales-app"),
    ),
    "LinkConsent": (
        {"consent": "emea.sales=analytics, *=audit"},
        create_topic_link("hr", "orders", "orders", among=[_SALES]),
    ),
    "BrokerConfigBounds": (
        {"min.log.retention.ms": "1h", "max.log.retention.ms": "30d"},
        alter_broker(1, {"log.retention.ms": "-1"}),
    ),
    "NeverLeaveCreatePolicy": (
        {"policy": "kgitops.policies:PartitionRange", "max": "48"},
        alter_topic(_ORDERS, partitions=60),
    ),
}
"""For each policy, configs and a request that it refuses."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "Replicas and placement": (
        "ReplicationFactorRange",
        "MinInsyncReplicasRange",
        "RackSpread",
        "ReservedBrokers",
        "NoManualAssignment",
    ),
    "Retention and size": ("RetentionRange", "TopicSizeCap", "ShortRetentionOfBigTopics"),
    "Partitions": ("PartitionRange", "PartitionBudget", "NoPartitionGrowthOfKeyedTopics"),
    "Names and labels": ("TopicNaming", "NamingByPrincipal", "RequiredLabels"),
    "Configs": ("FrozenConfigs", "ImmutableConfigs", "NeverLeaveCreatePolicy"),
    "Deletion": (
        "ProtectFromDeletion",
        "RecordDeletionLimit",
        "MassDeleteGuard",
        "DeleteOnlyIfUnused",
    ),
    "Access and quotas": (
        "NoWildcardPrincipals",
        "NoWildcardHosts",
        "NoAllOnCluster",
        "QuotaCeilings",
    ),
    "Users": ("ScramStrength", "UserNaming", "RequiredUserLabels"),
    "Virtual clusters": ("VirtualClusterNaming", "MembersAreUsers", "LinkConsent"),
    "Brokers": ("BrokerConfigBounds",),
}

_INTRODUCTION = """# The pack

<!-- Generated by: uv run python tools/generate.py -->

Policies that most teams want come with kgitops. A project turns one on by naming it:

```yaml
# kgitops.yaml
spec:
  policies:
    - class: "kgitops.policies:ReplicationFactorRange"
      configs: {min: 3}
    - class: "kgitops.policies:RetentionRange"
      name: short-retention
      level: soft
      configs: {max: 30d}
```

The policy's name is that of its class, `replication-factor-range`, unless the entry gives another.
One class may be named twice, with two names and other configs. How binding it is
is its [level](../guides/policies.md#levels).

## What they have in common

- **Configs are checked** when the policy is loaded. One that is unknown, missing or nonsense stops
  the run.
- **Durations** are written as `7d`, `1h30m` or `500ms` (w, d, h, m, s, ms), **sizes** as `10GiB`
  (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB). A number alone is milliseconds or bytes.
- **Lists** are one text with commas: `"orders, payments.*"`. Where a name holds commas, as a
  distinguished name does, write semicolons between the names instead.
- **Patterns** match the whole name: `*` is any text, `?` one character.
- **`topics`**: every policy on topics judges only those that match it; without it, all.
- **`users`**: every policy on users judges only those that match it; without it, all.
- **`exceptPrincipals`**: every policy on topics and on users never refuses these, such as
  `User:admin`.
- **In a virtual cluster** a topic is judged by the name that its users know, and messages say that.
- **Internal topics** are never judged.
- **The values that hold** are judged: what a topic doesn't set counts with the cluster's default.
- **What was wrong before** and stays as it was does not stop an alteration. So a topic that breaks
  two rules can be fixed one after the other. What a change touches must be right afterwards.

"""


def render_pack() -> str:
    """The page's text."""
    rows = ["| policy | what must hold |", "| --- | --- |"]
    sections = []
    for family, names in FAMILIES.items():
        sections.append(f"## {family}\n")
        for name in names:
            rows.append(f"| [{name}](#{name.lower()}) | {_first(getattr(policies, name))} |")
            sections.append(_section(name))
    table = "\n".join(rows)
    return f"{_INTRODUCTION}{table}\n\n{chr(10).join(sections)}"


def _section(name: str) -> str:
    class_ = getattr(policies, name)
    configs, request = EXAMPLES[name]
    with class_(configs) as policy:
        refused = violation(policy, request, _CLUSTER)
    assert refused is not None, name  # noqa: S101 (an example that is none)
    entry = [f'- class: "kgitops.policies:{name}"']
    if configs:
        entry += ["  configs:", *(f"    {key}: {_yaml(value)}" for key, value in configs.items())]
    text = inspect.cleandoc(class_.__doc__).replace("``", "`")
    parts = [
        f"### {name}",
        text,
        "\n".join(_rows(class_)),
        "```yaml\n{}\n```".format("\n".join(entry)),
        f"> {kebab_case(name)}: {refused.message}",
        f"What to do: {class_.remediation}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _rows(class_: type[Configured]) -> list[str]:
    rows = [
        f"| `{setting.key}` | {setting.meaning} | {_default(setting)} |"
        for setting in class_.settings()
        if setting.key not in ("topics", "users", "exceptPrincipals") or setting.required
    ]
    return ["| config | | default |", "| --- | --- | --- |", *rows] if rows else []


def _default(setting: Setting[Any]) -> str:
    if setting.required:
        return "**required**"
    return "" if setting.default is None else f"`{setting.default}`"


def _yaml(value: str) -> str:
    """The value as a person writes it in YAML."""
    value = value.removeprefix(f"{ROOT}/tests/")
    plain = re.fullmatch(r"[0-9.]+|[A-Za-z0-9][\w./-]*", value)
    return value if plain else json.dumps(value)


def _first(class_: type[Configured]) -> str:
    return " ".join(inspect.cleandoc(class_.__doc__ or "").split("\n\n")[0].split())
