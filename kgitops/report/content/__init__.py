"""The contents of reports, the same in every format."""
