"""The order in which the changes of a plan run."""
