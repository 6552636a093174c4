// What of the C library for Linux alone the module Glibc leaves out.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/ioctl.h>

// Swift calls no function with a variable number of arguments.
static inline int clinux_ioctl(int descriptor, unsigned long request, void *argument) {
    return ioctl(descriptor, request, argument);
}
