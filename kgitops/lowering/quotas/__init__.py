"""Quotas of virtual clusters as physical ones."""
