"""A delta per kind: an image and what records have changed since, readable as one."""
