"""The story on GitHub."""
