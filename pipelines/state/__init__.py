"""What a runner remembers between runs."""
