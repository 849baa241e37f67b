"""On an executor: enters the command's folder, and loads a unit's manifests as ``plan`` does."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kgitops.fleet.policies.evaluator_pool import EVALUATOR_POOL
from kgitops.fleet.units.unit import ManifestFiles, Unit
from kgitops.manifests.reading import ManifestCache
from kgitops.model.errors import KgitopsError
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.project.selection import Selection, open_workspace

_MOST_CHARACTERS = 64 * 1024 * 1024
_CACHE = ManifestCache(_MOST_CHARACTERS)
"""Files that were parsed for one cluster are parsed for the next ones of this process."""


@contextmanager
def loaded_unit(
    unit: Unit, manifests: ManifestFiles, environ: Mapping[str, str]
) -> Iterator[Loaded]:
    """Load a project for the cluster, with its policies open within a ``with`` block.

    Placeholders, findings with their places, and policies are those of ``kgitops plan PATH
    -c CLUSTER --snapshot``. ``environ`` is the executor's own: what ``${env:…}`` stands for.

    Raises:
        FindingsError: with every finding of every document.
        UsageError: the paths are not those of one project.
    """
    _CACHE.next_cluster()
    selection = Selection(
        paths=manifests.paths,
        cluster=unit.cluster,
        offline=True,
        policies=unit.policies,
        environ=environ,
        cache=_CACHE,
    )
    with loaded(open_workspace(selection), opening=EVALUATOR_POOL.lend) as declared:
        yield declared


def unit_error(error: Exception, command: str) -> KgitopsError:
    """Return the error of one unit: any but a KgitopsError is a fault of kgitops itself.

    Its message may hold values from the environment, so only its class is named; ``command`` shows
    the rest.
    """
    if isinstance(error, KgitopsError):
        return error
    return KgitopsError(
        f"kgitops failed where it should not: {type(error).__name__}; run kgitops --debug "
        f"{command} and report what it prints"
    )


def enter_folder(folder: str) -> None:
    """Enter the folder where the command was typed: paths in findings are relative to it.

    Raises:
        KgitopsError: it does not exist on this machine.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        raise KgitopsError(
            f"an executor has no folder {folder}: {error.strerror}; run where all executors "
            "see the same files, or give absolute paths from a folder that is everywhere"
        ) from error
