"""The commands of ``kgitops fleet``."""
