"""The course of ``kgitops gateway``: its settings, one process of it, and several."""
