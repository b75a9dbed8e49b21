"""The protocol: requests, answers, limits, pauses, and what is too large or keeps failing."""
