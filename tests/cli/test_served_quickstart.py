"""kgitops itself, by ``kafka://``, on a served cluster: its registry and journal in a topic."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import EXAMPLES

from kgitops.cluster.embedded.boot import boot
from kgitops.serve.background import serving


@pytest.fixture
def url() -> Iterator[str]:
    """A served cluster of three brokers."""
    cluster = boot(None, brokers=3)
    with serving(cluster) as server:
        yield server.url
    cluster.close()


def test_what_was_applied_is_not_planned_again(url: str, here: Path, kgitops: Kgitops) -> None:
    """The quickstart, and then a plan without changes."""
    shutil.copytree(EXAMPLES / "quickstart", here / "quickstart")
    target = ["-c", url, "--variables-of", "local", "quickstart"]
    applied = kgitops("apply", *target, "--auto-approve")
    assert applied.code == 0, applied.said
    assert "Applied: 13 done." in applied.said
    planned = kgitops("plan", *target)
    assert planned.code == 0, planned.said
    assert "No changes. The cluster matches the manifests." in planned.said
