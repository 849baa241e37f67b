"""A plan as a comment on a pull request."""
