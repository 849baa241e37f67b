"""A converted state file declares the topics and ACLs that kafka-gitops itself would make."""

import json
from pathlib import Path

import pytest
from conversion.corpus import CORPUS, files_of

from kgitops.conversion.acls import enum_member
from kgitops.conversion.converting import convert
from kgitops.model.resources.acls import Operation, PatternType, ResourceType

PLANS = {
    path.name.removesuffix("-plan.json"): path
    for path in (CORPUS / "kafka-gitops-plan").rglob("*-plan.json")
}
STATES = {path.name.removesuffix(".yaml"): path for path in files_of("kafka-gitops")}
# Their plans are made on a cluster that has something already, or of other files.
ON_A_CLUSTER = ("seed", "no-changes", "multi", "skip", "include-unchanged")
NEW = sorted(
    name
    for name in PLANS.keys() & STATES.keys()
    if not any(part in name.rsplit("__", 1)[-1] for part in ON_A_CLUSTER)
)

Binding = tuple[str, str, str, str, str, str]

if NEW:

    @pytest.mark.parametrize("name", NEW, ids=[name.rsplit("__", 1)[-1] for name in NEW])
    def test_the_bindings_are_those_of_its_plan(name: str) -> None:
        plan = json.loads(PLANS[name].read_text())
        expected = {
            binding(item["aclDetails"])
            for item in plan.get("aclPlans", ())
            if item["action"] in ("ADD", "NO_CHANGE")
        }
        assert declared_bindings(STATES[name]) == expected

    @pytest.mark.parametrize("name", NEW, ids=[name.rsplit("__", 1)[-1] for name in NEW])
    def test_the_topics_are_those_of_its_plan(name: str) -> None:
        plan = json.loads(PLANS[name].read_text())
        expected = {
            item["name"] for item in plan.get("topicPlans", ()) if item["action"] != "REMOVE"
        }
        project = convert(STATES[name], "kafka-gitops", "converted", compacted=False)
        declared = {
            document.name
            for item in project.conversion.objects
            for document in item.documents
            if document.kind == "Topic"
        }
        assert declared == expected


def declared_bindings(file: Path) -> set[Binding]:
    project = convert(file, "kafka-gitops", "converted", compacted=False)
    return {
        (
            str(document.spec["principal"]),
            document.spec["resource"]["type"],
            document.spec["resource"]["name"],
            document.spec["resource"].get("patternType", "literal"),
            operation,
            document.spec.get("host", "*"),
        )
        for item in project.conversion.objects
        for document in item.documents
        if document.kind == "Acl"
        for operation in document.spec["operations"]
    }


def binding(details: dict[str, str]) -> Binding:
    return (
        details["principal"],
        str(enum_member(ResourceType, details["type"])),
        details["name"],
        str(enum_member(PatternType, details["pattern"])),
        str(enum_member(Operation, details["operation"])),
        details["host"],
    )
