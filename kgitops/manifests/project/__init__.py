"""The project file ``kgitops.yaml``."""
