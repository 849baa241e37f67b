"""Topics: what is declared against what exists, as requests."""
