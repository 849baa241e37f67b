"""A project that kgitops applied at 67e198cc, before profiles and producers changed, planned now.

``upgraded_project`` has its documents, which use no newer field, and the cluster's state after that
apply, as that version's ``snapshot --users`` wrote it. The lists here are all that an upgrade does
to such a project: a change of kgitops that needs another line in them is explained in the plan and
in docs/guides/upgrading.md.
"""

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops

from kgitops.model.registry import Json

SOURCE = Path(__file__).with_name("upgraded_project")
NEW_CONFIGS = {
    "topic/audit.logins": {
        "configs.min.insync.replicas": "2",
        "configs.segment.bytes": "536870912",
    },
    "topic/customers": {
        "configs.retention.ms": "604800000",
        "configs.segment.bytes": "536870912",
    },
}
REVOKED = {
    f"acl/User:{principal}/Allow/Create/topic/{pattern}/{topic}@*"
    for principal, pattern, topic in (
        ("returns", "literal", "orders"),
        ("returns", "literal", "returns"),
        ("shop", "literal", "orders"),
        ("shop", "literal", "returns"),
        ("web", "prefixed", "clicks"),
    )
}
DEFAULTS = (
    ("kgitops.yaml:11:38", "min.insync.replicas", "project default", "audit"),
    ("kgitops.yaml:11:55", "retention.ms", "project default", "compacted"),
    ("kgitops.yaml:17:51", "segment.bytes", "default of prod", "audit"),
    ("kgitops.yaml:17:51", "segment.bytes", "default of prod", "compacted"),
)
PRODUCERS = (
    ("manifests/access.yaml:14:35", "1 binding"),
    ("manifests/access.yaml:9:53", "4 bindings"),
)
EXPLAINED = {
    *(
        f"{place}: {key} of the {default} is new to 1 topic of the profile {profile}, which adds "
        "to the defaults now and replaced them up to 0.1; to keep what was, write "
        f"{key}: null in the profile"
        for place, key, default, profile in DEFAULTS
    ),
    *(
        f"{place}: the role producer gives no Create now, which it gave up to 0.1, so this "
        f"document declares {count} less; to keep what was, write create: true beside the role"
        for place, count in PRODUCERS
    ),
}


@pytest.fixture
def upgraded(here: Path) -> Path:
    """The project, in the folder of the command."""
    shutil.copytree(SOURCE, here, dirs_exist_ok=True)
    return here


def planned(kgitops: Kgitops) -> Json:
    ran = kgitops("plan", "--snapshot", "snapshot.json", "--format", "json")
    assert ran.code == 0, ran.said
    return json.loads(ran.out)


@pytest.mark.usefixtures("upgraded")
def test_the_first_plan_has_these_changes_and_explains_each(kgitops: Kgitops) -> None:
    plan = planned(kgitops)
    changes = {change["address"]: change for change in plan["changes"]}
    assert changes.keys() == NEW_CONFIGS.keys() | REVOKED
    for address, fields in NEW_CONFIGS.items():
        assert changes[address]["actions"] == ["update"]
        found = changes[address]["fields"]
        assert {it["path"]: it["after"] for it in found} == fields
        assert {it["before"] for it in found} == {None}
    assert {tuple(changes[address]["actions"]) for address in REVOKED} == {("delete",)}
    said = kgitops("plan", "--snapshot", "snapshot.json").out
    warnings = said.partition("WARNINGS (6)\n")[2].partition("\n\n")[0]
    assert {line.removeprefix("  ! ") for line in warnings.splitlines()} == EXPLAINED
    assert (plan["drift"], plan["kept"], plan["refusals"]) == ([], [], [])


KEEPING = (
    ("topics", "{cleanup.policy: compact, min", "retention.ms: null, segment.bytes: null"),
    (
        "audit/topics",
        "{retention.ms: 31536000000",
        "min.insync.replicas: null, segment.bytes: null",
    ),
    ("access", "{principals: [User:shop, User:returns]", "create: true"),
    ("access", "{principal: User:web", "create: true"),
)


def test_what_the_lines_say_keeps_everything(upgraded: Path, kgitops: Kgitops) -> None:
    for file, before, more in KEEPING:
        path = upgraded / "manifests" / f"{file}.yaml"
        text = path.read_text()
        assert text.count(before) == 1, before
        path.write_text(text.replace(before, f"{{{more}, {before.removeprefix('{')}"))
    plan = planned(kgitops)
    assert (plan["changes"], plan["warnings"]) == ([], [])
