"""What that Bluesky answers over HTTP."""
