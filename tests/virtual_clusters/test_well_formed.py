"""Validation of ACLs and quotas, in one place for all kinds of clusters."""

import pytest

from kgitops.model.resources.quotas import make_entity
from kgitops.virtual_clusters.well_formed import entity_problem, quota_problem

OWN = make_entity({"virtual-cluster": "a", "user": "u"})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, None),
        (1024.0, None),
        (1024.0000000001, None),  # an error of rounding
        (0.5, "consumer_byte_rate cannot be a fractional value."),
        (0.0, "Quota consumer_byte_rate must be greater than 0"),
        (float("nan"), "Quota consumer_byte_rate must be greater than 0"),
        (2.0**64, "Proposed value for consumer_byte_rate is too large for a LONG."),
    ],
)
def test_a_rate_is_a_whole_positive_number(value: float | None, problem: str | None) -> None:
    """VC-210: the same for a virtual cluster's quota as for any other."""
    assert quota_problem(OWN, "consumer_byte_rate", value) == problem


def test_a_share_may_be_fractional() -> None:
    """VC-210: it is a percentage."""
    assert quota_problem(OWN, "request_percentage", 0.5) is None
    assert quota_problem(OWN, "no_such_rate", 1.0) == "Invalid configuration key no_such_rate"


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"virtual-cluster": "a"}, None),
        ({"virtual-cluster": None}, None),
        ({"virtual-cluster": "a", "user": None}, None),
        ({"virtual-cluster": "a", "user": ""}, "Empty user not supported"),
        ({"virtual-cluster": "a/b"}, "No quota can be set: the name 'a/b' contains '/'"),
        (
            {"virtual-cluster": None, "user": "u"},
            "The default virtual cluster can have a cap, no quotas of users or clients",
        ),
    ],
)
def test_who_a_quota_can_be_for(parts: dict[str, str | None], problem: str | None) -> None:
    """VC-205, VC-206."""
    assert entity_problem(make_entity(parts)) == problem
