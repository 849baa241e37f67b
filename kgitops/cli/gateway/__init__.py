"""The command ``kgitops gateway``."""
