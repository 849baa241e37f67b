"""``kgitops reconcile``: plan again and again, and apply what may be applied by itself."""
