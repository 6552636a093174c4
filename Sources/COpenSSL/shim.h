// The header of OpenSSL for Swift, with functions for its macros, which Swift cannot call.
#pragma once
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <arpa/inet.h>
#include <string.h>
#include <time.h>

static inline int copenssl_set_min_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline int copenssl_set_server_name(SSL *connection, const char *name) {
    return (int)SSL_set_tlsext_host_name(connection, name);
}

static inline int copenssl_set_user(SSL_CTX *context, void *user) { return SSL_CTX_set_ex_data(context, 0, user); }

static inline void *copenssl_user(const SSL *connection) { return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), 0); }

static inline SSL *copenssl_connection(X509_STORE_CTX *store) {
    return (SSL *)X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
}

static inline int copenssl_is_handshaking(const SSL *connection) { return SSL_in_init(connection); }

static inline int copenssl_wants_write(const SSL *connection) { return SSL_want_write(connection); }

// Refuses a key that needs a password, and sets `wasWanted` to 1. Without this function, the library would ask for the
// password on the terminal.
static inline int copenssl_no_password(char *buffer, int size, int isWriting, void *wasWanted) {
    (void)buffer, (void)size, (void)isWriting;
    if (wasWanted) *(int *)wasWanted = 1;
    return -1;
}

static inline void copenssl_refuse_passwords(SSL_CTX *context) {
    SSL_CTX_set_default_passwd_cb(context, copenssl_no_password);
}

// Loads the key from a file. `wasWanted` becomes 1 if the key needs a password, 0 otherwise.
static inline int copenssl_use_key(SSL_CTX *context, const char *path, int *wasWanted) {
    *wasWanted = 0;
    SSL_CTX_set_default_passwd_cb_userdata(context, wasWanted);
    int result = SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return result;
}

// Writes the names and addresses for which a certificate is valid into `text`, separated by commas, as many as fit.
static inline void copenssl_names(X509 *certificate, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int index = 0; names && index < sk_GENERAL_NAME_num(names); index++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
        char address[INET6_ADDRSTRLEN] = "";
        const char *word = address;
        if (name->type == GEN_DNS) {
            word = (const char *)ASN1_STRING_get0_data(name->d.dNSName);
            // A name with a zero byte is skipped, because the text would end there.
            if ((int)strlen(word) != ASN1_STRING_length(name->d.dNSName)) continue;
        } else if (name->type == GEN_IPADD) {
            int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
            if (family == AF_INET6 && ASN1_STRING_length(name->d.iPAddress) != 16) continue;
            inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), address, sizeof address);
        } else {
            continue;
        }
        size_t length = strlen(word);
        if (used + length + 3 > size) break;
        if (used) memcpy(text + used, ", ", 2), used += 2;
        memcpy(text + used, word, length);
        used += length;
        text[used] = 0;
    }
    GENERAL_NAMES_free(names);
}

// Writes the subject of a certificate and the end of its validity into `text`.
static inline void copenssl_subject(X509 *certificate, char *text, size_t size) {
    X509_NAME_oneline(X509_get_subject_name(certificate), text, (int)size);
    struct tm time;
    size_t used = strlen(text);
    if (size - used > 32 && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time)) {
        strftime(text + used, size - used, ", until %Y-%m-%dT%H:%M:%SZ", &time);
    }
}
