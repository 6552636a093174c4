"""A guest with systemd as its first process, in which apt installs the package."""
