"""A policy that notes its life in the file ``diary``."""

import os
from collections.abc import Mapping
from pathlib import Path

from kgitops.policy.api.interfaces import BaseTopicPolicy


class Diary(BaseTopicPolicy):
    def configure(self, configs: Mapping[str, str]) -> None:
        self._file = Path(configs["diary"])
        self._note("configured")

    def close(self) -> None:
        self._note("closed")

    def _note(self, word: str) -> None:
        with self._file.open("a") as diary:
            diary.write(f"{os.getpid()} {word}\n")
