"""Commands run as a user runs them."""

from cli.conftest import here, kgitops, project

__all__ = ["here", "kgitops", "project"]
