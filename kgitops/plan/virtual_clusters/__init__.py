"""Planning of virtual clusters, their members, links and ACLs."""
