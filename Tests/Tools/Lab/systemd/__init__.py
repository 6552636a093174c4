"""A guest with systemd as its first process, in which the package is installed with apt."""
