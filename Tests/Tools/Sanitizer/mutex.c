// Informs the thread sanitizer of uses of a lock that it does not detect itself. If two threads need the same Mutex of
// Swift's Synchronization module at once, the kernel passes it on (futex(2), FUTEX_LOCK_PI and FUTEX_UNLOCK_PI). The
// library that calls the kernel is not instrumented. So even in the smallest program, the sanitizer reports a race of
// the data that the lock protects. If this file is preloaded, its two functions replace those of that library: they
// have Swift's mangled names of _MutexHandle._lockSlow(_:) and _unlockSlow(). They call the original functions, and
// report the lock to the sanitizer. If no lock is held, a race must be reported as before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

// From <sanitizer/tsan_interface.h>. They are null in programs that are not instrumented.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static void *following(void **place, const char *name) {
    void *found = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        if (!found) abort();
        __atomic_store_n(place, found, __ATOMIC_RELAXED);
    }
    return found;
}

SWIFT void lock_slow(uint32_t thread, SELF handle) __asm__(LOCK);
SWIFT void lock_slow(uint32_t thread, SELF handle) {
    static void *next;
    SWIFT void (*function)(uint32_t, SELF) = following(&next, LOCK);
    function(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF handle) __asm__(UNLOCK);
SWIFT void unlock_slow(SELF handle) {
    static void *next;
    SWIFT void (*function)(SELF) = following(&next, UNLOCK);
    if (__tsan_release) __tsan_release(handle);
    function(handle);
}
