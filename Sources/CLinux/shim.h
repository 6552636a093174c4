// What of the C library for Linux alone the module Glibc leaves out.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/ioctl.h>
#include <stddef.h>

// memmem(3) and memrchr(3), which <string.h> declares for _GNU_SOURCE alone; musl has them too.
extern void *memmem(const void *text, size_t size, const void *word, size_t length);
extern void *memrchr(const void *text, int octet, size_t size);

// Swift calls no function with a variable number of arguments.
static inline int clinux_ioctl(int descriptor, unsigned long request, void *argument) {
    return ioctl(descriptor, request, argument);
}

// Has a program that is started keep no descriptor from `from` on (glibc 2.34), which <spawn.h> declares for _GNU_SOURCE
// and the like alone.
#include <spawn.h>
static inline int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
    extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

// The process's environment (environ(7)): a variable of the C library's that Swift takes for shared and unguarded.
extern char **environ;
static inline char **clinux_environment(void) { return environ; }

// What a process may that others may not (capabilities(7)), given up for good: the effective, permitted, inheritable and
// ambient sets are emptied, and no program that it executes gets any (prctl(2), PR_SET_NO_NEW_PRIVS). 0, or -1 and errno.
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static inline int clinux_give_up_privileges(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
    // EINVAL: a kernel before 4.3 has no ambient set.
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -1;
    return (int)syscall(SYS_capset, &header, none);
}

// What the machine's tools call the thread that asks for it (prctl(2), PR_SET_NAME).
static inline void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
