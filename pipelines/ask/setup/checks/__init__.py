"""What is asked of the services and of this machine, and what the answers mean: plain functions of answers."""
