"""What that GitHub answers over HTTP."""
