"""What a unit's manifests declare, loaded as ``kgitops plan`` loads them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kgitops.fleet.policies.judges import EVALUATOR_POOL
from kgitops.fleet.units.unit import ManifestsAt, Unit
from kgitops.manifests.cache import ManifestCache
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.project.selection import Selection, open_workspace

_MOST_CHARACTERS = 64 * 1024 * 1024
_CACHE = ManifestCache(_MOST_CHARACTERS)
"""Files that were parsed for one cluster are parsed for the next ones of this process."""


@contextmanager
def declared_in(unit: Unit, at: ManifestsAt, environ: Mapping[str, str]) -> Iterator[Loaded]:
    """What a project declares for the cluster, and who judges, within a ``with`` block.

    Placeholders, findings with their places, and policies are those of ``kgitops plan PATH
    -c CLUSTER --snapshot``. ``environ`` is the executor's own: what ``${env:…}`` stands for.

    Raises:
        FindingsError: with every finding of every document.
        UsageError: the paths can't be meant.
    """
    _CACHE.next_cluster()
    selection = Selection(
        paths=at.paths,
        cluster=unit.cluster,
        offline=True,
        policies=unit.policies,
        environ=environ,
        cache=_CACHE,
    )
    with loaded(open_workspace(selection), opening=EVALUATOR_POOL.lent) as declared:
        yield declared
