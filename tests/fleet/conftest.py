"""What tests of fleets share."""

import pytest
from fleet.spark_sessions import group_spark_tests, local_spark

__all__ = ["local_spark"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest-xdist looks at the groups."""
    group_spark_tests(items)
