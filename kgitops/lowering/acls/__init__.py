"""ACLs of virtual clusters as physical ones."""
