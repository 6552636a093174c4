// Linux-specific parts of the C library that the module Glibc does not have.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/ioctl.h>
#include <stddef.h>

// memmem(3) and memrchr(3). <string.h> declares them only with _GNU_SOURCE. musl has them too.
extern void *memmem(const void *text, size_t size, const void *word, size_t length);
extern void *memrchr(const void *text, int octet, size_t size);

// ioctl(2), because Swift cannot call functions with a variable number of arguments.
static inline int clinux_ioctl(int descriptor, unsigned long request, void *argument) {
    return ioctl(descriptor, request, argument);
}

// Closes all descriptors from `from` on in a program that is started (glibc 2.34). <spawn.h> declares the function only
// with _GNU_SOURCE and similar macros.
#include <spawn.h>
static inline int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
    extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

// Returns the environment of the process (environ(7)). Swift treats the variable of the C library as unprotected shared
// state.
extern char **environ;
static inline char **clinux_environment(void) { return environ; }

// Gives up all capabilities of the calling thread permanently (capabilities(7)). It clears the effective, permitted,
// inheritable and ambient sets, and programs that it executes get no capabilities (prctl(2), PR_SET_NO_NEW_PRIVS).
// Returns 0, or -1 and sets errno.
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static inline int clinux_give_up_privileges(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
    // EINVAL means a kernel before 4.3, which does not have the ambient set.
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -1;
    return (int)syscall(SYS_capset, &header, none);
}

// Sets the name of the calling thread that system tools show (prctl(2), PR_SET_NAME).
static inline void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
