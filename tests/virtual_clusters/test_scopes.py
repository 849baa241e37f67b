"""Patterns of virtual clusters."""

import pytest

from kgitops.model.resources.acls import CLUSTER_NAME, PatternType
from kgitops.virtual_clusters.rights import VirtualClusterScope

A, AB = VirtualClusterScope("a"), VirtualClusterScope("a.b")
A_ALL, AB_ALL, NOTHING = (
    VirtualClusterScope(prefix, PatternType.PREFIXED) for prefix in ("a", "a.b", "")
)
EVERY, PHYSICAL = VirtualClusterScope("*"), VirtualClusterScope(CLUSTER_NAME)
LIKE_IT = VirtualClusterScope(CLUSTER_NAME, PatternType.PREFIXED)


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        (A, {A}),
        (A_ALL, {A, AB, A_ALL, AB_ALL}),
        (AB_ALL, {AB, AB_ALL}),
        (NOTHING, {A, AB, A_ALL, AB_ALL, NOTHING, EVERY, LIKE_IT}),
        (EVERY, {A, AB, A_ALL, AB_ALL, NOTHING, EVERY, LIKE_IT}),
        (PHYSICAL, {PHYSICAL}),
        (LIKE_IT, {LIKE_IT}),
    ],
)
def test_what_a_scope_covers(scope: VirtualClusterScope, covered: set[VirtualClusterScope]):
    """VC-100, VC-108, VC-144: a pattern never means the physical cluster; VC-006: a, not a.b."""
    scopes = {A, AB, A_ALL, AB_ALL, NOTHING, EVERY, PHYSICAL, LIKE_IT}
    assert {other for other in scopes if scope.covers(other)} == covered


def test_two_scopes_meet_where_a_virtual_cluster_can_be_in_both():
    assert A_ALL.meets(AB_ALL)
    assert AB_ALL.meets(A_ALL)
    assert AB.meets(A_ALL)
    assert not A.meets(AB_ALL)
    assert not EVERY.meets(PHYSICAL)
