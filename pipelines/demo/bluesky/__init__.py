"""A Bluesky that knows the truth."""
