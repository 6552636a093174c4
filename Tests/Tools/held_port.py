"""TCP ports of the loopback interface for servers that a script starts."""
import socket

_held = []


def held_port():
    """Returns a port of 127.0.0.1 that the kernel assigns to no other program until this process ends.

    The socket stays bound and does not listen. A server that sets SO_REUSEADDR can listen on the port (socket(7)).
    Until then, connections are refused.
    """
    _held.append(socket.socket())
    _held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _held[-1].bind(("127.0.0.1", 0))
    return _held[-1].getsockname()[1]
