"""The host's part of the lab: prepares and boots the virtual machine, and checks its results."""
