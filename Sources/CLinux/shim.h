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
