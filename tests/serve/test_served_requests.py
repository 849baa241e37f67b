"""Brokers announce old versions as the proposals have them."""

from served_requests import announced

from kgitops.cluster.embedded.options import Compat


def test_old_versions_are_announced_as_the_proposals_have_them() -> None:
    kraft, seed = announced(Compat.KRAFT), announced(Compat.SEED)
    assert kraft.keys() == seed.keys()
    assert all(set(kraft[key]) <= set(seed[key]) for key in kraft)
