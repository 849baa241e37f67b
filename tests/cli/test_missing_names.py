"""A topic or group that an ACL names, and that does not exist after the plan, is a warning."""

import json
import re
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from manifests.loading import acl, topic, write

from kgitops.desired.declared_names import misspelt, near_spelling

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: shop, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
spec:
  clusters: {local: {url: "embedded:.kgitops/local.db"}}
"""
DECLARED = topic("orders.return.approved") + "---\n" + topic("payments")
VIRTUAL = """\
apiVersion: kgitops/v1
kind: VirtualCluster
metadata: {name: sales}
spec: {members: {users: [User:a], groups: [billing]}}
---
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders, virtualCluster: sales}
spec: {partitions: 1, replicationFactor: 1}
"""


def consumer(topics: str, group: str = "billing-app", more: str = "") -> str:
    """A role's document: the topics stand on line 7 from column 11, the group on line 8."""
    text = f"principals: [User:a, User:b]\nrole: consumer\ntopics: {topics}\ngroup: {group}{more}"
    return acl(text)


def a_right(resource: str, more: str = "") -> str:
    """A binding: the resource stands on line 8 from column 13."""
    text = f"principal: User:a\npermission: Allow\noperations: [Read]\nresource: {resource}{more}"
    return acl(text)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write(tmp_path, {"kgitops.yaml": PROJECT, "manifests/topics.yaml": DECLARED})
    return tmp_path


def warned(kgitops: Kgitops, folder: Path, *words: str | Path) -> list[str]:
    """The warnings of a plan: LINE:COLUMN of acls.yaml, problem, advice."""
    ran = kgitops("plan", folder, *words, "--format", "json")
    assert ran.code == 0, ran.err
    every = json.loads(ran.out)["warnings"]
    rows = [row for row in every if row["source"] and row["source"]["file"].endswith("acls.yaml")]
    return [
        f"{row['source']['line']}:{row['source']['column']}: {row['problem']}; {row['advice']}"
        for row in rows
    ]


def test_a_binding_that_may_create_its_topic(kgitops: Kgitops, shop: Path) -> None:
    text = a_right("{type: topic, name: nowhere}").replace("[Read]", "[Create, Read]")
    write(shop, {"manifests/acls.yaml": text})
    (one,) = warned(kgitops, shop)
    assert one.startswith("8:33: the topic nowhere is neither")
    assert "no effect until a client creates it" in one


def test_a_topic_of_another_project_is_no_mistake(kgitops: Kgitops, shop: Path) -> None:
    other = shop / "other"
    at = PROJECT.replace(".kgitops/", f"{shop}/.kgitops/").replace("6f1c", "7f1c")
    write(other, {"kgitops.yaml": at.replace("shop", "other"), "manifests/a.yaml": topic("theirs")})
    assert kgitops("apply", other, "--auto-approve").code == 0
    write(shop, {"manifests/acls.yaml": a_right("{type: topic, name: theirs}")})
    assert warned(kgitops, shop) == []
    write(shop, {"manifests/acls.yaml": a_right("{type: topic, name: their}")})
    (one,) = warned(kgitops, shop)
    assert one.endswith("did you mean theirs?")
    snapshot = shop / "state.json"
    assert kgitops("snapshot", "-o", snapshot, "-c", "local", shop).code == 0
    assert warned(kgitops, shop, "--snapshot", snapshot) == [one]


@pytest.mark.parametrize(
    "resource",
    [
        '{type: topic, name: "*"}',
        "{type: topic, name: nowhere, patternType: prefixed}",
        "{type: topic, name: __consumer_offsets}",
        "{type: group, name: nowhere}",
        "{type: transactionalId, name: nowhere}",
        "{type: cluster, name: kafka-cluster}",
        "{type: topic, name: payments}",
    ],
)
def test_what_is_no_name_of_a_missing_topic(resource: str, kgitops: Kgitops, shop: Path) -> None:
    operations = "[Describe]"
    text = a_right(resource).replace("[Read]", operations)
    write(shop, {"manifests/acls.yaml": text})
    assert warned(kgitops, shop) == []
    assert "acls.yaml" not in kgitops("validate", shop).err


def test_a_topic_for_other_clusters_only(kgitops: Kgitops, shop: Path) -> None:
    project = PROJECT.replace("{local:", '{prod: {url: "embedded:p.db"}, local:')
    limited = topic("limited").replace("{name: limited}", "{name: limited, clusters: [prod]}")
    write(shop, {"kgitops.yaml": project, "manifests/topics.yaml": limited})
    write(shop, {"manifests/acls.yaml": a_right("{type: topic, name: limited}")})
    (one,) = warned(kgitops, shop, "-c", "local")
    assert "8:33: the topic limited is declared for other clusters only" in one
    assert one.endswith("limit this document to those clusters as well, with metadata.clusters")
    assert warned(kgitops, shop, "-c", "prod") == []


def test_names_in_a_virtual_cluster_are_its_own(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": PROJECT, "manifests/sales.yaml": VIRTUAL})
    inside = "\nvirtualCluster: sales"
    documents = (
        a_right("{type: topic, name: orders}", inside),
        a_right("{type: topic, name: ordres}", inside),
        a_right("{type: topic, name: orders}"),
        a_right("{type: group, name: biling}", inside),
    )
    write(tmp_path, {"manifests/acls.yaml": "---\n".join(documents)})
    said = warned(kgitops, tmp_path)
    first, second, third = (one for one in said if ": the " in one or ": no document" in one)
    assert first.startswith("18:33: the topic ordres in sales is neither declared here nor on")
    assert first.endswith("did you mean orders?")
    assert second.startswith("28:33: the topic orders is neither declared here nor on the cluster")
    assert third.endswith("no document declares the group biling in sales; did you mean billing?")


def test_a_link_to_a_topic_that_is_nowhere_names_the_near_one(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    links = (
        "---\napiVersion: kgitops/v1\nkind: TopicLink\nmetadata: {name: a, virtualCluster: sales}\n"
        "spec: {target: {physicalTopic: paymnts}}\n"
        "---\napiVersion: kgitops/v1\nkind: TopicLink\nmetadata: {name: b, virtualCluster: sales}\n"
        "spec: {target: {virtualCluster: sales, topic: ordrs}}\n"
    )
    text = VIRTUAL + links + "---\n" + topic("payments")
    write(tmp_path, {"kgitops.yaml": PROJECT, "manifests/sales.yaml": text})
    ran = kgitops("plan", tmp_path)
    assert ran.code == 1
    assert re.search(r"sales.yaml:14:\d+: .*'paymnts'.*; did you mean payments\?", ran.out)
    assert re.search(
        r"sales.yaml:19:\d+: .*sales has no such topic.*did you mean orders\?", ran.out
    )


def test_of_very_many_names_a_hundred_are_shown(kgitops: Kgitops, shop: Path) -> None:
    names = ", ".join(f"nowhere{number}" for number in range(103))
    write(shop, {"manifests/acls.yaml": consumer(f"[{names}]")})
    ran = kgitops("plan", shop, "--format", "json")
    rows = json.loads(ran.out)["warnings"]
    assert len(rows) == 101
    assert rows[-1]["problem"] == "3 more names in ACLs do not exist after this plan"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("orders.return.aproved", "orders.return.approved"),
        ("orders", "order"),
        ("ordres", "orders"),
        ("Orders_EU", "orders.eu"),
        ("paymants", "payments"),
    ],
)
def test_a_typing_error(written: str, meant: str) -> None:
    assert misspelt(written, ["other", meant]) == meant


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("orders.v1", "orders.v2"),
        ("orders.v1", "orders.v"),
        ("orders.uk", "orders.us"),
        ("orders.created", "orders.cancelled"),
        ("ab", "ac"),
        ("orders", "orders.dlq"),
    ],
)
def test_another_name(written: str, other: str) -> None:
    assert misspelt(written, [other]) is None


def test_a_near_spelling_is_near() -> None:
    assert near_spelling("ordrs", ["orders", "order-items"]) == "orders"
    assert near_spelling("orders.cart.created", ["orders.order.shipped"]) is None
