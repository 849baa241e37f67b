"""Downloads jars with the Python package jgo, where there is no Maven."""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from jgo.maven import MavenContext

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.jvm.pinned import Jar

_AT_ONCE = 8


def download_all(jars: Sequence[Jar], folder: Path, on_done: Callable[[int], None]) -> None:
    """Put exactly these jars into ``folder``; ``on_done`` is told how many are there.

    jgo's own resolution of what a jar depends on is not used: it picks other versions than Maven.

    Raises:
        KgitopsError: one can't be downloaded.
    """
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        # Not Maven's own cache, where a download that breaks off would be left for Maven to find.
        context = MavenContext(repo_cache=Path(cache), timeout=60)

        def fetch(jar: Jar) -> None:
            project = context.project(jar.group, jar.name)
            path = project.at_version(jar.version).artifact().resolve()
            path.rename(folder / jar.file)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            running = {pool.submit(fetch, jar): jar for jar in jars}
            try:
                for count, done in enumerate(as_completed(running), 1):
                    _check(done.exception(), running[done])
                    on_done(count)
            finally:
                pool.shutdown(cancel_futures=True)


def _check(error: BaseException | None, jar: Jar) -> None:
    if error is not None:
        raise KgitopsError(f"{jar.file} can't be downloaded: {error}; start again") from error
