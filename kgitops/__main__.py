"""The ``kgitops`` command, also as ``python -m kgitops``."""

import gc

_GARBAGE_AFTER = 1_000_000


def run() -> None:
    """Run the process to its exit."""
    # Modules, and then a plan, are a large heap of values that all live to the end: looking for
    # garbage among them again and again costs up to half of the time. So it begins before imports.
    gc.set_threshold(_GARBAGE_AFTER)
    from kgitops.cli.main import run as run_command  # noqa: PLC0415

    run_command()


if __name__ == "__main__":
    run()
