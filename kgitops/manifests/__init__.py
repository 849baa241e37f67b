"""YAML files in, checked documents out."""
