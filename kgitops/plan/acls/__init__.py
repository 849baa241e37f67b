"""ACLs: what is declared against what exists, and what a change of them does to access."""
