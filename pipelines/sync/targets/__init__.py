"""A run over what was named: which it is, how it goes, what became of it."""
