"""The pairs of projects and clusters: each is one unit of work, and one plan."""
