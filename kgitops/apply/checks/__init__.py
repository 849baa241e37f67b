"""The conditions that must hold before an apply changes anything."""
