#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

// What microhttpd.h needs, and does not bring.
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <microhttpd.h>

// The calls that take what follows a word of the library's own: Swift has no such calls.

/* What a daemon is started with: MHD_OPTION_… of microhttpd.h. */
struct cmicrohttpd_settings {
    int listener;
    size_t connection_memory;
    unsigned int connections_max;
    unsigned int connections_per_address_max;
    unsigned int idle_seconds_max;
    MHD_AcceptPolicyCallback accepts;
    MHD_AccessHandlerCallback answers;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback notified;
    void *context;
};

/* Without a thread of its own: whoever watches its descriptor calls MHD_run. NULL where it can't be started. */
static inline struct MHD_Daemon *cmicrohttpd_start(const struct cmicrohttpd_settings *settings) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, settings->accepts, settings->context, settings->answers,
        settings->context, MHD_OPTION_LISTEN_SOCKET, settings->listener, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        settings->connection_memory, MHD_OPTION_CONNECTION_LIMIT, settings->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_address_max, MHD_OPTION_CONNECTION_TIMEOUT,
        settings->idle_seconds_max, MHD_OPTION_NOTIFY_COMPLETED, settings->completed, settings->context,
        MHD_OPTION_NOTIFY_CONNECTION, settings->notified, settings->context, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
}

/* What is to be watched; -1 where it has none. */
static inline int cmicrohttpd_epoll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

/* The socket of a connection; -1 where it has none. */
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

#endif
