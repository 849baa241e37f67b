"""Terraform and OpenTofu: files with modules, state files, and the resources of Kafka in them."""
