"""Rights that a role's document doesn't give any more name the document, if it can only be one."""

from pathlib import Path

import pytest
from builders import applied, plan_of
from manifests.loading import acl, build, load, write
from report.plans import sealed

from kgitops.desired.state import DesiredState
from kgitops.plan.document.file import to_text
from kgitops.plan.document.plan import Plan
from kgitops.plan.reading import read_plan

PRODUCER = "principal: User:shop\nrole: producer\ntopics: [orders, returns]\ntransactionalId: shop"
CONSUMER = "principal: User:shop\nrole: consumer\ntopics: [orders]\ngroup: shop"
WRITTEN = (
    "principal: User:shop\npermission: Allow\noperations: [Alter]\n"
    "resource: {type: topic, name: orders}"
)
NAMED = "the role at edited.yaml:1 does not declare it now"
UNKNOWN = "no document declares it any more"


def declared(folder: Path, documents: dict[str, str]) -> DesiredState:
    """Documents, each in a file of its name."""
    write(folder, {f"{name}.yaml": acl(spec, name) for name, spec in documents.items()})
    return build(load(folder))


def edited(folder: Path, before: str, after: str | None, **others: str) -> Plan:
    """The plan after an edit, or after the removal, of one document among others."""
    old = declared(folder / "old", {"edited": before, **others})
    new = declared(folder / "new", {**({} if after is None else {"edited": after}), **others})
    return plan_of(new, applied(*old.objects, project="test"))


def reasons(plan: Plan, folder: Path) -> set[str]:
    """Why bindings are removed; a reason that names a document has its place beside it."""
    removed = [change for change in plan.changes if change.owner_after is None]
    for change in removed:
        place = f"{change.source.file}:{change.source.line}" if change.source else "no document"
        assert place in change.because
    reason = " and its last applied deletionPolicy is Delete"
    return {
        change.because.removesuffix(reason).replace(f"{folder / 'new'}/", "") for change in removed
    }


STREAMS = "principal: User:shop\nrole: streams\napplicationId: web"


@pytest.mark.parametrize(
    ("before", "after", "beside"),
    [
        (PRODUCER, PRODUCER.replace(", returns", ""), CONSUMER),
        (f"{PRODUCER}\ncreate: true", PRODUCER, CONSUMER),
        (PRODUCER, f"{PRODUCER}\npatternType: prefixed", CONSUMER),
        (PRODUCER, PRODUCER.replace("Id: shop", "Id: web"), CONSUMER),
        (CONSUMER, CONSUMER.replace("group: shop", "group: web"), PRODUCER),
        (STREAMS, STREAMS.replace("web", "shop"), PRODUCER),
    ],
)
def test_an_edited_role_is_named(tmp_path: Path, before: str, after: str, beside: str) -> None:
    plan = edited(tmp_path, before, after, beside=beside, written=WRITTEN)
    assert reasons(plan, tmp_path) == {NAMED}


@pytest.mark.parametrize(
    ("before", "after", "beside"),
    [
        (PRODUCER, None, CONSUMER),
        (PRODUCER, PRODUCER.replace("User:shop", "User:web"), CONSUMER),
        (PRODUCER, f"{PRODUCER}\nhost: 10.0.0.1", CONSUMER),
        (PRODUCER, CONSUMER, WRITTEN),
        (PRODUCER, PRODUCER.replace(", returns", ""), PRODUCER.replace("orders, returns", "web")),
        (WRITTEN, WRITTEN.replace("Alter", "Delete"), PRODUCER),
        (WRITTEN.replace("Allow", "Deny").replace("Alter", "Write"), None, PRODUCER),
    ],
)
def test_where_no_document_or_several_may_have_declared_it_none_is_named(
    tmp_path: Path, before: str, after: str | None, beside: str
) -> None:
    plan = edited(tmp_path, before, after, beside=beside)
    assert reasons(plan, tmp_path) == {UNKNOWN}


def test_a_protected_right_names_the_role_too(tmp_path: Path) -> None:
    policy = "\ndeletionPolicy: Protect"
    plan = edited(tmp_path, PRODUCER + policy, PRODUCER.replace(", returns", "") + policy)
    first, *_ = (reason.sentence for reason in plan.refusals)
    assert first.replace(f"{tmp_path / 'new'}/", "") == (
        "acl/User:shop/Allow/Describe/topic/literal/returns@* is protected: the role at "
        "edited.yaml:1 does not declare it now, but its last applied deletionPolicy is Protect; "
        "declare a Tombstone for it, or declare it again and apply it with deletionPolicy: Delete "
        "(or Orphan) before removing it. --exclude "
        "'acl/User:shop/Allow/Describe/topic/literal/returns@*' plans the other documents"
    )


def test_a_saved_plan_of_an_edited_role_is_read(tmp_path: Path) -> None:
    plan = edited(tmp_path, PRODUCER, PRODUCER.replace(", returns", ""))
    assert plan.changes
    assert read_plan(to_text(sealed(plan)), "plan.json").plan == plan
