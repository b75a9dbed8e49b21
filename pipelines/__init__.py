"""What Earshot does with what the sources say."""
