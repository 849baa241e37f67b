"""The page with the requests that are answered is what brokers announce."""

from served_requests import PAGE, announced, render_served_requests

from kgitops.cluster.embedded.options import Compat


def test_the_page_is_what_brokers_announce() -> None:
    """To write it again: uv run python tools/served_requests.py."""
    assert PAGE.read_text(encoding="utf-8") == render_served_requests()


def test_old_versions_are_announced_as_the_proposals_have_them() -> None:
    kraft, seed = announced(Compat.KRAFT), announced(Compat.SEED)
    assert kraft.keys() == seed.keys()
    assert all(set(kraft[key]) <= set(seed[key]) for key in kraft)
