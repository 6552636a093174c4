// What of the C library for Linux alone the module Glibc leaves out.
#pragma once
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
