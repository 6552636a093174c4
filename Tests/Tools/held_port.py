"""A TCP port of the loopback for a server that a script starts."""
import socket

_held = []


def held_port():
    """Returns a port of 127.0.0.1 that no other program is given until this process ends.

    It stays bound and does not listen. A server that sets SO_REUSEADDR can listen at it (socket(7)); until one does, a
    connection is refused.
    """
    _held.append(socket.socket())
    _held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _held[-1].bind(("127.0.0.1", 0))
    return _held[-1].getsockname()[1]
