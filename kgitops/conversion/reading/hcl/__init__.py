"""Reads Terraform's language, HCL: blocks, and expressions as far as their values are known."""
