"""One source of one run: what was committed, whether there is news, and if so, extracted, loaded and rechecked."""
