"""What must know every kind knows each, and addresses are read as they are written."""

from pathlib import Path
from typing import get_args

import pytest
from kinds.samples import ADDRESSES

from kgitops.kinds.base import ValuesKind
from kgitops.kinds.configs import ConfigsKind
from kgitops.manifests.kind_models import KINDS, LISTS, OBJECT_KINDS, class_of, kind_class
from kgitops.manifests.kinds.tombstone import TombstoneTarget
from kgitops.manifests.schema import field_docs
from kgitops.model.json.declared import DesiredClientMetrics, DesiredObject, sorts_of
from kgitops.model.resources.addresses import is_address, kind_of, object_name
from kgitops.model.resources.kinds import FORMS, KIND_OF_SORT, AddressForm, Kind, is_declarable

DECLARED = {kind for kind in Kind if kind is not Kind.BROKER}


def test_every_kind_has_an_address_a_document_a_list_and_a_record() -> None:
    assert {form.kind for form in FORMS} == {*Kind}
    assert {*KINDS} >= DECLARED
    assert {*LISTS.values()} == DECLARED
    assert {kind.kind for kind in get_args(DesiredObject)} == DECLARED
    sorts = {sort for kind in get_args(DesiredObject) for sort in sorts_of(kind)}
    assert {KIND_OF_SORT[sort] for sort in sorts} == DECLARED


@pytest.mark.parametrize("kind", OBJECT_KINDS)
def test_the_module_of_a_kind_has_every_hook(kind: str) -> None:
    assert kind_class(kind).declares.kind == kind


@pytest.mark.parametrize("form", [it for it in FORMS if it.declarable], ids=lambda it: it.kind)
def test_the_guide_to_adopting_says_how_an_export_writes_it(form: AddressForm) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "adopting.md").read_text()
    assert form.noun in guide.lower()


def test_a_kind_without_a_hook_is_named_with_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both sorts: a method, and a value of the class."""

    class HalfKind(ConfigsKind[DesiredClientMetrics]):
        declares = DesiredClientMetrics

    class ValueKind(ValuesKind[DesiredClientMetrics]):
        """Nothing but a name."""

    monkeypatch.setattr("kgitops.kinds.client_metrics.ClientMetricsKind", HalfKind)
    kind_class.cache_clear()
    with pytest.raises(
        NotImplementedError,
        match="HalfKind has no adopted, changed, files, forgotten, noun, phases, removed",
    ):
        kind_class("ClientMetrics")
    kind_class.cache_clear()
    assert {"build", "requests", "shown", "field"} <= {*ValueKind.missing_hooks()}


def test_a_tombstone_s_page_says_which_kinds_it_names() -> None:
    docs = field_docs(TombstoneTarget)
    said = docs["kind"].partition(";")[0]
    assert {*said.replace(" or ", ", ").split(", ")} == {it.kind for it in FORMS if it.by_name}
    for form in FORMS:
        assert not form.declarable or f"{form.segment}/" in docs["address"]


@pytest.mark.parametrize(
    ("kind", "address"), [(kind, address) for kind in ADDRESSES for address in ADDRESSES[kind]]
)
def test_addresses_tell_their_kind(kind: str, address: str) -> None:
    assert is_declarable(address)
    declares = class_of(address).declares
    assert kind_of(address) in sorts_of(declares)
    assert is_address(address)
    assert KIND_OF_SORT[kind_of(address)] == kind
    assert object_name(address).kind in {form.noun for form in FORMS if form.kind == kind}
