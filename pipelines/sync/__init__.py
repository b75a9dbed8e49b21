"""One run, in the order in which it happens."""
