"""Planning of ACLs, and the effect of changed ACLs on access."""
