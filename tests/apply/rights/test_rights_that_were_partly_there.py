"""A lowered right of which a part was missing, and that an earlier request made whole again."""

from builders import a_binding, a_cluster

from kgitops.apply.effects import check_expected
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.addresses import acl_address
from kgitops.plan.document.plan import Precondition

BINDING = a_binding(virtual_cluster="emea.sales")
ABSENT = Precondition(object=acl_address(BINDING), exists=False)


def test_what_was_to_go_goes_when_it_is_whole_again() -> None:
    assert check_expected([ABSENT], DeleteAclRequest(binding=BINDING), a_cluster()) == ()
    assert check_expected([ABSENT], DeleteAclRequest(binding=BINDING), a_cluster(BINDING)) == ()


def test_what_was_to_be_made_is_not_made_over_another_ones() -> None:
    (found,) = check_expected([ABSENT], CreateAclRequest(binding=BINDING), a_cluster(BINDING))
    assert "is present" in str(found)
