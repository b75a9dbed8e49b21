"""What happens in the demo, scene by scene."""
