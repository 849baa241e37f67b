"""The folder that a task works in, so that paths mean and are called what they do to its user."""

import os

from kgitops.model.errors import KgitopsError


def work_in(folder: str) -> None:
    """Work in the folder where the command was typed; findings name files from there.

    Raises:
        KgitopsError: it is not there on this machine.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        raise KgitopsError(
            f"an executor has no folder {folder}: {error.strerror}; run where all executors "
            "see the same files, or give absolute paths from a folder that is everywhere"
        ) from error
