"""A GitHub that knows the truth."""
