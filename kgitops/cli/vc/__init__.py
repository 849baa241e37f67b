"""The commands of ``kgitops vc``."""
