"""All that commands share: options, targets, output and signals, and how a plan is executed."""
