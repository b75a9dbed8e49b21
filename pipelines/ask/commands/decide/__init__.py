"""Commands that change something: acknowledge, answer, watch, let be."""
