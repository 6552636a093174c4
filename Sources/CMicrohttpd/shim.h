#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

// What microhttpd.h needs, and does not bring.
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
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
    /* PEM; NULL without TLS. They are read while the daemon is started. */
    const char *certificate;
    const char *key;
};

/* Without a thread of its own: whoever watches its descriptor calls MHD_run. NULL where it can't be started. */
static inline struct MHD_Daemon *cmicrohttpd_start(const struct cmicrohttpd_settings *settings) {
    // What came before TLS 1.2 is spoken by nobody who shows pages any more (RFC 8996).
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)settings->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)settings->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    int is_plain = settings->certificate == NULL;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (is_plain ? 0 : MHD_USE_TLS), 0, settings->accepts,
        settings->context, settings->answers, settings->context, MHD_OPTION_LISTEN_SOCKET, settings->listener,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_memory, MHD_OPTION_CONNECTION_LIMIT,
        settings->connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_address_max,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds_max, MHD_OPTION_NOTIFY_COMPLETED, settings->completed,
        settings->context, MHD_OPTION_NOTIFY_CONNECTION, settings->notified, settings->context,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, is_plain ? tls + 3 : tls, MHD_OPTION_END);
}

/* Whether GnuTLS takes a certificate, with those above it, and its key: 0, or its error (gnutls_strerror). `ends` is when the
   certificate does, in seconds since 1970. */
static inline int cmicrohttpd_check_identity(const char *certificate, const char *key, int64_t *ends) {
    gnutls_certificate_credentials_t credentials;
    int result = gnutls_certificate_allocate_credentials(&credentials);
    if (result < 0)
        return result;
    gnutls_datum_t first = {(unsigned char *)(uintptr_t)certificate, (unsigned int)strlen(certificate)};
    gnutls_datum_t second = {(unsigned char *)(uintptr_t)key, (unsigned int)strlen(key)};
    result = gnutls_certificate_set_x509_key_mem(credentials, &first, &second, GNUTLS_X509_FMT_PEM);
    gnutls_x509_crt_t *chain = NULL;
    unsigned int count = 0;
    if (result >= 0)
        result = gnutls_certificate_get_x509_crt(credentials, 0, &chain, &count);
    if (result >= 0) {
        *ends = count > 0 ? (int64_t)gnutls_x509_crt_get_expiration_time(chain[0]) : 0;
        for (unsigned int index = 0; index < count; index++)
            gnutls_x509_crt_deinit(chain[index]);
        gnutls_free(chain);
    }
    gnutls_certificate_free_credentials(credentials);
    return result < 0 ? result : 0;
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

/* Whether a socket's peer has closed it, or sends no more. (POLLRDHUP of poll(2) has the same value, and is for GNU sources
   alone.) */
static inline bool cmicrohttpd_is_closed(int socket) {
    struct pollfd state = {.fd = socket, .events = EPOLLRDHUP, .revents = 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (EPOLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

#endif
