"""The story on Bluesky."""
