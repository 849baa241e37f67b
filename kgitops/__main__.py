"""``python -m kgitops`` is the ``kgitops`` command."""

from kgitops.cli.main import run

if __name__ == "__main__":
    run()
