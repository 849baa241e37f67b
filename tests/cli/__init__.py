"""A package, because python-hcl2 installs one of this name, which would be found instead."""
