"""Which projects meet which clusters: one unit of work, and one plan, for each pair."""
