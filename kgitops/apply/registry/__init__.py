"""The registry's records: who owns what after a change, and the repair of damaged ones."""
