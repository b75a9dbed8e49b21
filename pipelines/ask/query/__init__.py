"""What the commands ask the published file for."""
