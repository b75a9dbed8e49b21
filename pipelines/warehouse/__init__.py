"""Where rows live: the data directory, its lock, publishing; the engines it can be on."""
