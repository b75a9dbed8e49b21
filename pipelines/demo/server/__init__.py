"""An HTTP server over loopback for the worlds."""
