"""The lab's host side: it prepares and boots the virtual machine, and judges what came out of it."""
