"""The catalogue: a page of what a project declares, for everybody who uses the cluster."""
