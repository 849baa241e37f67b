"""Quotas as members and administrators of virtual clusters set and see them."""

import pytest
from cluster.embedded.bound.tenancies import HR, SALES, connect, on_cluster, root, two_tenants
from msgspec.structs import replace

from kgitops.cluster.embedded.controls.quotas import EntityMatch, QuotaAlteration, QuotaFilter
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import CLUSTER_NAME, Operation
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.results import ErrorCode

DENIED, DONE = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE
JANE = (("user", "jane"),)
CAP = ((VIRTUAL_CLUSTER, SALES),)
DEFAULT_CAP = ((VIRTUAL_CLUSTER, None),)
IN_SALES = ((VIRTUAL_CLUSTER, SALES), *JANE)
IN_HR = ((VIRTUAL_CLUSTER, HR), *JANE)
EVERY_ENTITY = (JANE, CAP, DEFAULT_CAP, IN_SALES, IN_HR)
RATE = (("producer_byte_rate", 7.0),)


def altered(cluster, principal: str, entity: ClientQuotaEntity) -> ErrorCode:
    """What is answered to an alteration."""
    asked = QuotaAlteration(entity=entity, operations=RATE)
    [(key, result)] = connect(cluster, principal).alter_client_quotas([asked]).items()
    assert key == entity
    return result.code


@pytest.mark.parametrize("operation", [Operation.ALTER_CONFIGS, Operation.CLUSTER_ACTION])
def test_what_an_administrator_may_set(operation: Operation):
    """VC-154, VC-155, VC-214, VC-146: quotas in the virtual cluster, never its cap."""
    cluster = two_tenants(on_cluster(operation, SALES, "User:admin"))
    answers = {entity: altered(cluster, "User:admin", entity) for entity in EVERY_ENTITY}
    assert answers == dict.fromkeys(EVERY_ENTITY, DENIED) | {IN_SALES: DONE}
    assert set(cluster.read_state().quotas) == {IN_SALES}


def test_caps_need_a_right_on_the_physical_cluster():
    """VC-214, VC-101."""
    cluster = two_tenants(on_cluster(Operation.ALTER_CONFIGS, CLUSTER_NAME, "User:admin"))
    assert {altered(cluster, "User:admin", entity) for entity in EVERY_ENTITY} == {DONE}


def test_a_member_means_its_own_virtual_cluster():
    """VC-249, VC-154: and nothing at all does not mean the cap."""
    cluster = two_tenants(on_cluster(Operation.ALTER_CONFIGS))
    assert altered(cluster, "User:a", JANE) is DONE
    assert altered(cluster, "User:a", IN_SALES) is DONE
    assert altered(cluster, "User:a", IN_HR) is DENIED
    assert altered(cluster, "User:a", CAP) is DENIED
    assert altered(cluster, "User:a", ()) is DENIED
    assert set(cluster.read_state().quotas) == {IN_SALES}
    assert altered(cluster, "User:b", JANE) is DENIED


def test_nothing_at_all_is_not_the_cap():
    """VC-214: not even for who may set it."""
    cluster = two_tenants(on_cluster(Operation.ALTER_CONFIGS, CLUSTER_NAME))
    assert altered(cluster, "User:a", ()) is ErrorCode.INVALID_REQUEST
    assert altered(cluster, "User:a", CAP) is DONE


def test_the_same_entity_said_in_two_ways():
    cluster = two_tenants(on_cluster(Operation.ALTER_CONFIGS))
    asked = [QuotaAlteration(entity=entity, operations=RATE) for entity in (JANE, IN_SALES)]
    results = connect(cluster).alter_client_quotas(asked)
    assert {entity: result.code for entity, result in results.items()} == {
        JANE: ErrorCode.INVALID_REQUEST,
        IN_SALES: ErrorCode.INVALID_REQUEST,
    }


def test_who_sees_which_quotas():
    """VC-160b: of the virtual clusters on which one has the right."""
    cluster = two_tenants(
        on_cluster(Operation.DESCRIBE_CONFIGS),
        on_cluster(Operation.ALTER_CONFIGS, "*", "User:admin"),
        on_cluster(Operation.DESCRIBE_CONFIGS, CLUSTER_NAME, "User:auditor"),
    )
    asked = [QuotaAlteration(entity=entity, operations=RATE) for entity in EVERY_ENTITY]
    assert all(result.ok for result in root(cluster).alter_client_quotas(asked).values())
    seen = {
        principal: set(connect(cluster, principal).describe_client_quotas())
        for principal in ("User:a", "User:admin", "User:auditor")
    }
    assert seen == {
        "User:a": {CAP, IN_SALES},
        "User:admin": {CAP, IN_SALES, IN_HR},
        "User:auditor": set(EVERY_ENTITY),
    }
    of_users = QuotaFilter(entity_type="user")
    assert set(connect(cluster).describe_client_quotas([of_users], strict=True)) == {IN_SALES}
    of_hr = QuotaFilter(entity_type=VIRTUAL_CLUSTER, match=EntityMatch.EXACT, name=HR)
    for principal, wanted in (("User:a", [of_hr]), ("User:b", []), ("User:c", [of_users])):
        with pytest.raises(Refusal) as refused:
            connect(cluster, principal).describe_client_quotas(wanted)
        assert refused.value.result.code is DENIED
    any_of_them = replace(of_hr, match=EntityMatch.ANY, name=None)
    assert set(connect(cluster).describe_client_quotas([any_of_them])) == {CAP, IN_SALES}
