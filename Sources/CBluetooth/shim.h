// The interface of the kernel's Bluetooth sockets. The headers of libbluetooth do not have the management channel, and
// the other necessary declarations are few. There are also functions for parts of the C library that Swift cannot call:
// functions with a variable number of arguments, and the CMSG macros.
//
// Sources: Linux include/net/bluetooth/{bluetooth,hci,hci_sock}.h, net/bluetooth/hci_sock.c; recvmsg(2), cmsg(3),
// socket(7), sock_diag(7), capabilities(7), prctl(2). Each function returns -1 and sets errno if it fails.
#pragma once
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// struct sockaddr_hci (hci_sock.h).
struct gateway_hci_address {
    uint16_t family;
    uint16_t device;
    uint16_t channel;
};

// struct hci_filter (hci_sock.h).
struct gateway_hci_filter {
    uint32_t type_mask;
    uint32_t event_mask[2];
    uint16_t opcode;
};

enum {
    GATEWAY_AF_BLUETOOTH = 31,
    GATEWAY_BTPROTO_HCI = 1,
    GATEWAY_SOL_HCI = 0,
    GATEWAY_HCI_FILTER = 2,
    GATEWAY_HCI_TIME_STAMP = 3,
    GATEWAY_HCI_CMSG_TSTAMP = 2,
    // SO_MEMINFO of asm-generic/socket.h. Its word 8 is SK_MEMINFO_DROPS of linux/sock_diag.h.
    GATEWAY_SO_MEMINFO = 55,
    GATEWAY_MEMINFO_DROPS = 8,
};

static inline int gateway_bluetooth_socket(void) {
    return socket(GATEWAY_AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, GATEWAY_BTPROTO_HCI);
}

static inline int gateway_bluetooth_bind(int fd, uint16_t device, uint16_t channel) {
    struct gateway_hci_address address = {GATEWAY_AF_BLUETOOTH, device, channel};
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static inline int gateway_hci_set_filter(int fd, uint32_t types, uint64_t events, uint16_t opcode) {
    struct gateway_hci_filter filter = {types, {(uint32_t)events, (uint32_t)(events >> 32)}, opcode};
    return setsockopt(fd, GATEWAY_SOL_HCI, GATEWAY_HCI_FILTER, &filter, sizeof filter);
}

// Enables receive times. The raw channel has a separate option, the other channels use the general one.
static inline int gateway_bluetooth_timestamps(int fd, int is_raw) {
    int on = 1;
    if (is_raw) return setsockopt(fd, GATEWAY_SOL_HCI, GATEWAY_HCI_TIME_STAMP, &on, sizeof on);
    return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

// Enlarges the receive buffer. With CAP_NET_ADMIN it can exceed net.core.rmem_max, otherwise it cannot. Returns the
// resulting size in bytes.
static inline int gateway_receive_buffer(int fd, int bytes) {
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    int size = 0;
    socklen_t length = sizeof size;
    return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length) < 0 ? -1 : size;
}

// Stores the number of messages that the kernel has dropped since the socket was created, because its buffer was full.
static inline int gateway_drops(int fd, uint32_t *drops) {
    uint32_t words[16] = {0};
    socklen_t length = sizeof words;
    if (getsockopt(fd, SOL_SOCKET, GATEWAY_SO_MEMINFO, words, &length) < 0) return -1;
    if (length < (GATEWAY_MEMINFO_DROPS + 1) * sizeof words[0]) {
        errno = ENOPROTOOPT;
        return -1;
    }
    *drops = words[GATEWAY_MEMINFO_DROPS];
    return 0;
}

// Receives one message without waiting. `stamp` becomes its receive time on the wall clock in nanoseconds, or -1 if the
// kernel gave none. `truncated` becomes 1 if it was longer than the buffer, 0 otherwise.
static inline ssize_t gateway_receive(int fd, void *bytes, size_t capacity, int64_t *stamp, int *truncated) {
    union {
        char bytes[256];
        struct cmsghdr alignment;
    } control;
    struct iovec vector = {bytes, capacity};
    struct msghdr message = {0};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    *stamp = -1;
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT);
    if (count < 0) return count;
    *truncated = (message.msg_flags & MSG_TRUNC) != 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS &&
            item->cmsg_len >= CMSG_LEN(sizeof(struct timespec))) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(item), sizeof time);
            *stamp = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        } else if (item->cmsg_level == GATEWAY_SOL_HCI && item->cmsg_type == GATEWAY_HCI_CMSG_TSTAMP &&
                   item->cmsg_len >= CMSG_LEN(sizeof(struct timeval))) {
            struct timeval time;
            memcpy(&time, CMSG_DATA(item), sizeof time);
            *stamp = (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
        }
    }
    return count;
}

// Waits until `fd` can be read, at most `milliseconds`. Returns 1, or 0 after this time.
static inline int gateway_wait_readable(int fd, int milliseconds) {
    struct pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, milliseconds);
}

static inline void gateway_pause(int milliseconds) { (void)poll(0, 0, milliseconds); }

static inline ssize_t gateway_send(int fd, const void *bytes, size_t count) {
    return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Reads the capability sets of the calling thread: effective, permitted and inheritable, with 64 bits each.
static inline int gateway_capabilities(uint64_t sets[3]) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0) return -1;
    sets[0] = (uint64_t)data[1].effective << 32 | data[0].effective;
    sets[1] = (uint64_t)data[1].permitted << 32 | data[0].permitted;
    sets[2] = (uint64_t)data[1].inheritable << 32 | data[0].inheritable;
    return 0;
}

// Sets the effective and permitted capabilities of the calling thread to `kept`, and clears the inheritable ones.
static inline int gateway_set_capabilities(uint64_t kept) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {
        {(uint32_t)kept, (uint32_t)kept, 0}, {(uint32_t)(kept >> 32), (uint32_t)(kept >> 32), 0}};
    return (int)syscall(SYS_capset, &header, data);
}

static inline int gateway_bounding_has(int capability) { return prctl(PR_CAPBSET_READ, capability, 0, 0, 0); }
static inline int gateway_bounding_drop(int capability) { return prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); }
static inline int gateway_ambient_clear(void) { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); }
static inline int gateway_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
