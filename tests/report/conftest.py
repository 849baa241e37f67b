"""The payloads that a test of a renderer tries."""

from collections.abc import Sequence

import pytest
from report.payloads import FAMILIES, some


@pytest.fixture(params=["some", pytest.param("all", marks=pytest.mark.slow)])
def payloads(request: pytest.FixtureRequest, family: str) -> Sequence[str]:
    """Two of the family, others for each renderer; in the tier ``slow`` all of them."""
    if request.param == "all":
        return FAMILIES[family]
    return some(family, request.node.nodeid.partition("::")[2])
