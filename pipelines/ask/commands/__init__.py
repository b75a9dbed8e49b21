"""The reader's commands, one file each; loaded when asked for."""
