"""The models of kinds, asked for by several threads at once, as a loop's first turns do."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from kgitops.manifests import kind_models


class SlowAdapter:
    """A fake: it notes how many are built at the same time."""

    lock = Lock()
    building = most = 0

    def __init__(self, _: type) -> None:
        pass

    def rebuild(self) -> None:
        with self.lock:
            SlowAdapter.building += 1
            SlowAdapter.most = max(SlowAdapter.most, SlowAdapter.building)
        time.sleep(0.05)
        with self.lock:
            SlowAdapter.building -= 1


def test_one_model_is_built_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """pydantic takes the validator off a class while it builds another."""
    monkeypatch.setattr(kind_models, "TypeAdapter", SlowAdapter)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(kind_models.adapter.__wrapped__, ["Topic", "Acl", "User", "Project"]))
    assert SlowAdapter.most == 1
