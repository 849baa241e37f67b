"""AlterClientQuotas of virtual clusters: which entities there are, and who may set them."""

from itertools import product

import pytest
from cluster.clusters import a_cluster, admin
from virtual_clusters.vc_requests import A

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.virtual_clusters import NewVirtualCluster
from kgitops.cluster.embedded.controls.quotas import (
    EntityMatch,
    EntityParts,
    QuotaAlteration,
    QuotaFilter,
)
from kgitops.cluster.embedded.options import Options
from kgitops.model.resources.quotas import make_entity
from kgitops.model.results import ErrorCode, RequestResult

RATE = "producer_byte_rate"
VC = "virtual-cluster"
ABSENT = "absent"
OK, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
USER = {"user": "jane"}


def set_quota(
    client, entity: EntityParts, *operations: tuple[str, float | None], validate_only: bool = False
) -> RequestResult:
    alteration = QuotaAlteration(entity=entity, operations=operations or ((RATE, 1024.0),))
    (result,) = client.alter_client_quotas([alteration], validate_only=validate_only).values()
    return result


def is_legal(virtual_cluster: str | None, user: str | None, client_id: str | None) -> bool:
    """VC-206, VC-207: some entity; the default virtual cluster only alone."""
    inside = user != ABSENT or client_id != ABSENT
    return inside if virtual_cluster == ABSENT else virtual_cluster is not None or not inside


@pytest.mark.parametrize(
    ("virtual_cluster", "user", "client_id"),
    list(product((ABSENT, A, None), (ABSENT, "jane", None), (ABSENT, "app", None))),
)
def test_the_families(virtual_cluster: str | None, user: str | None, client_id: str | None):
    """VC-206, VC-207, VC-208: all of them, in whichever order they are named."""
    parts = {VC: virtual_cluster, "user": user, "client-id": client_id}
    entity = tuple((kind, name) for kind, name in parts.items() if name != ABSENT)
    expected = OK if is_legal(virtual_cluster, user, client_id) else INVALID
    for written in (entity, entity[::-1]):
        cluster = a_cluster()
        assert set_quota(admin(cluster), written).code is expected
        kept = {make_entity(dict(entity)): {RATE: 1024.0}} if expected is OK else {}
        assert {k: dict(v.quotas) for k, v in cluster.read_state().quotas.items()} == kept


@pytest.mark.parametrize(
    "entity",
    [
        pytest.param({VC: "kafka-cluster"}, id="VC-205"),
        pytest.param({VC: "kafka-cluster", **USER}, id="VC-205-inside"),
        pytest.param({VC: A, "ip": "10.0.0.1"}, id="VC-209"),
        pytest.param({VC: None, "ip": None}, id="VC-209-default"),
        pytest.param({VC: ""}, id="empty"),
        pytest.param({VC: "a:b"}, id="no-name"),
        pytest.param({VC: "<default>"}, id="spelt-default"),
        pytest.param({"virtual-clusters": A}, id="VC-208"),
    ],
)
def test_what_has_no_quota(entity: dict[str, str | None]):
    """VC-104, VC-205, VC-208, VC-209."""
    cluster = a_cluster()
    assert set_quota(admin(cluster), tuple(entity.items())).code is INVALID
    assert not cluster.read_state().quotas


def test_no_entity_and_no_key_twice_and_nothing_when_only_validating():
    """VC-215."""
    cluster = a_cluster()
    entity = ((VC, A), ("user", "jane"))
    twice = [QuotaAlteration(entity=entity, operations=((RATE, value),)) for value in (1.0, 2.0)]
    twice[1] = QuotaAlteration(entity=entity[::-1], operations=((RATE, 2.0),))
    (result,) = admin(cluster).alter_client_quotas(twice).values()
    assert result.code is INVALID
    assert set_quota(admin(cluster), entity, (RATE, 1.0), (RATE, 2.0)).code is INVALID
    assert set_quota(admin(cluster), entity, validate_only=True).ok
    assert not cluster.read_state().quotas


def test_a_virtual_cluster_with_quotas_can_be_deleted_and_they_can_be_removed_after():
    """VC-216: the proposal lets them be; none is left once they are removed."""
    cluster = a_cluster()
    client = admin(cluster)
    client.create_virtual_clusters([NewVirtualCluster(name=A)])
    assert set_quota(client, ((VC, A), ("user", "jane"))).ok
    assert client.delete_virtual_clusters([A])[A].ok
    assert set_quota(client, ((VC, A), ("user", "jane")), (RATE, None)).ok
    assert not cluster.read_state().quotas


def test_quotas_of_a_virtual_cluster_are_found_by_its_name():
    """VC-208."""
    client = admin(a_cluster())
    for entity in (((VC, A),), ((VC, None),), ((VC, A), ("user", None)), (("user", "jane"),)):
        assert set_quota(client, entity).ok
    by_name = QuotaFilter(entity_type=VC, match=EntityMatch.EXACT, name=A)
    assert set(client.describe_client_quotas([by_name])) == {((VC, A),), ((VC, A), ("user", None))}
    default = QuotaFilter(entity_type=VC, match=EntityMatch.DEFAULT)
    assert set(client.describe_client_quotas([default])) == {((VC, None),)}


def test_without_the_feature_there_are_no_such_quotas():
    """VC-351."""
    client = admin(boot(None, options=Options(virtual_clusters=False)))
    assert set_quota(client, ((VC, A),)).code is ErrorCode.UNSUPPORTED_VERSION
    assert set_quota(client, (("user", "jane"),)).ok
