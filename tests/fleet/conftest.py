"""What holds for every test of fleets."""

from collections.abc import Iterator

import pytest

from kgitops.fleet.policies.evaluator_pool import EVALUATOR_POOL


@pytest.fixture(autouse=True)
def _policies_are_closed() -> Iterator[None]:
    """The policies that a process of Spark's would keep open for its next unit."""
    yield
    EVALUATOR_POOL.close()
