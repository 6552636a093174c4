#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

// Headers that microhttpd.h needs, but does not include.
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

// Calls of library functions with variable arguments, which Swift cannot call.

/* The maximum number of members of a query, and of the bytes that it takes of a connection's memory, with 64 bytes more
   for each member. If that memory is full, the library closes the connection without an answer. */
enum { cmicrohttpd_query_max = 100, cmicrohttpd_query_bytes_max = 10240 };

/* Flags in the state that the first call of `answers` receives. The state is not the address of an object: its low bits
   are these flags, and the bits above them are the length of the target. */
enum { cmicrohttpd_long_query_flag = 1, cmicrohttpd_control_flag = 2, cmicrohttpd_flags = 4 };

/* Returns whether the query of a target exceeds cmicrohttpd_query_max or cmicrohttpd_query_bytes_max. */
static inline bool cmicrohttpd_query_is_long(const void *found) {
    return ((uintptr_t)found & cmicrohttpd_long_query_flag) != 0;
}

/* Returns whether a target has a space, a control character, or %00. The library decodes %00 to a NUL, which ends a C
   string. */
static inline bool cmicrohttpd_has_control(const void *found) {
    return ((uintptr_t)found & cmicrohttpd_control_flag) != 0;
}

/* Called with the target of each request, in the library's memory, before its query is parsed. If the query is too
   long, it is removed there, so that the request can be answered. */
static inline void *cmicrohttpd_look_at_target(void *context, const char *target, struct MHD_Connection *connection) {
    (void)context;
    (void)connection;
    if (target == NULL)
        return NULL;
    uintptr_t flags = strstr(target, "%00") == NULL ? 0 : cmicrohttpd_control_flag;
    const char *end = target;
    for (; *end != 0; end++)
        if ((unsigned char)*end <= ' ' || *end == 0x7F)
            flags |= cmicrohttpd_control_flag;
    const char *query = strchr(target, '?');
    if (query != NULL) {
        size_t members = 1;
        for (const char *place = query + 1; *place != 0; place++)
            members += *place == '&';
        if (members > cmicrohttpd_query_max || (size_t)(end - query) + 64 * members > cmicrohttpd_query_bytes_max) {
            ((char *)(uintptr_t)query)[1] = 0;
            flags |= cmicrohttpd_long_query_flag;
        }
    }
    return (void *)((uintptr_t)(end - target) * cmicrohttpd_flags + flags);
}

/* Returns whether a byte is allowed in the name of a header (RFC 9110, 5.6.2). */
static inline bool cmicrohttpd_is_token(unsigned char octet) {
    return (octet >= '0' && octet <= '9') || (octet >= 'A' && octet <= 'Z') || (octet >= 'a' && octet <= 'z') ||
           (octet != 0 && strchr("!#$%&'*+-.^_`|~", octet) != NULL);
}

/* Returns whether the head of a request conforms to RFC 9112. Its lines must end with CR LF and must not be folded.
   White space before a colon and control characters are not allowed. `found` is the result of
   cmicrohttpd_look_at_target.

   Versions of the library before 0.9.76 accept heads that do not conform, and can parse other headers from them than a
   proxy. For example, they ignore a Content-Length on a folded line, and read the body as the next request. Their
   memory still has the lines, with each colon and line end replaced by zeros, so they are checked there. Later versions
   reject such heads themselves (MHD_OPTION_STRICT_FOR_CLIENT). */
static inline bool cmicrohttpd_is_strict(
    struct MHD_Connection *connection, const char *method, const char *target, const char *version, const void *found) {
#if MHD_VERSION < 0x00097600
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    // The version follows the target directly, unless a NUL has cut off the rest of the target.
    if (info == NULL || target != method + strlen(method) + 1 ||
        version != target + (uintptr_t)found / cmicrohttpd_flags + 1)
        return false;
    const unsigned char *place = (const unsigned char *)version + strlen(version);
    const unsigned char *end = (const unsigned char *)method + info->header_size - 2;
    int headers = -1;
    // Each iteration is at the end of a line: first the request line, then each header.
    while (place < end && place[0] == 0 && place[1] == 0) {
        place += 2;
        headers++;
        if (place == end)
            return place[0] == 0 && place[1] == 0 &&
                   headers == MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL);
        const unsigned char *name = place;
        while (place < end && cmicrohttpd_is_token(*place))
            place++;
        if (place == name || place == end || *place != 0)
            return false;
        place++;
        while (place < end && (*place == '\t' || (*place >= ' ' && *place != 0x7F)))
            place++;
    }
    return false;
#else
    (void)connection, (void)method, (void)target, (void)version, (void)found;
    return true;
#endif
}

/* The options of a daemon: MHD_OPTION_… of microhttpd.h. */
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
    /* PEM texts; NULL without TLS. They must stay valid only until the daemon is started. */
    const char *certificate;
    const char *key;
};

/* Starts a daemon without a thread of its own. The caller must watch the descriptor of cmicrohttpd_epoll, and call
   MHD_run when it is readable or when the time of MHD_get_timeout has passed. Returns NULL if the daemon cannot be
   started. */
static inline struct MHD_Daemon *cmicrohttpd_start(const struct cmicrohttpd_settings *settings) {
    // Browsers no longer support TLS versions before 1.2 (RFC 8996).
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
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, &cmicrohttpd_look_at_target, NULL,
        MHD_OPTION_ARRAY, is_plain ? tls + 3 : tls, MHD_OPTION_END);
}

/* Checks whether GnuTLS accepts a certificate, with its intermediate certificates, and its key. Returns 0, or an error
   of GnuTLS (gnutls_strerror). Sets `ends` to the time at which the certificate expires, in seconds since 1970. */
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

/* Returns the descriptor of a daemon that must be watched; -1 if it has none. */
static inline int cmicrohttpd_epoll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

/* Returns the socket of a connection; -1 if it has none. */
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/* Returns whether the peer of a socket has closed it, or has shut it down for writing. EPOLLRDHUP has the same value as
   POLLRDHUP of poll(2), which is defined only with _GNU_SOURCE. */
static inline bool cmicrohttpd_is_closed(int socket) {
    struct pollfd state = {.fd = socket, .events = EPOLLRDHUP, .revents = 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (EPOLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

#endif
