"""Consumer groups outside of virtual clusters: their configs, their offsets, their deletion."""
