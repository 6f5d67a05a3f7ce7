#define _GNU_SOURCE
#include "failing.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static enum failing_threads threads; /* ANY, as all that follows */
static pthread_t caller;
static uint64_t fails_at, calls;
static int64_t blocks, mapped_bytes;

void failing_begin(uint64_t index, enum failing_threads which)
{
    caller = pthread_self();
    fails_at = index;
    __atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&threads, which, __ATOMIC_RELEASE);
}

uint64_t failing_end(void)
{
    __atomic_store_n(&threads, FAILING_NONE, __ATOMIC_RELEASE);
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

struct failing_held failing_held(void)
{
    return (struct failing_held){__atomic_load_n(&blocks, __ATOMIC_RELAXED),
                                 __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED)};
}

static bool fails(void)
{
    enum failing_threads which = __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
    if (which == FAILING_NONE ||
        (which != FAILING_ALL &&
         (which == FAILING_CALLER) != (pthread_equal(caller, pthread_self()) != 0)))
        return false;
    return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) == fails_at;
}

/* --- The system's functions. ----------------------------------------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *memory);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mremap(void *memory, size_t bytes, size_t bytes_new, int flags);
int __wrap_munmap(void *memory, size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

static void *block(void *memory)
{
    if (memory)
        __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : block(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : block(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails())
        return NULL;
    return memory ? __real_realloc(memory, bytes) : block(__real_realloc(NULL, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : block(__real_strdup(text));
}

void __wrap_free(void *memory)
{
    if (memory)
        __atomic_fetch_sub(&blocks, 1, __ATOMIC_RELAXED);
    __real_free(memory);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *pages = fails() ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, offset);
    if (pages != MAP_FAILED)
        __atomic_fetch_add(&mapped_bytes, (int64_t)bytes, __ATOMIC_RELAXED);
    return pages;
}

int __wrap_munmap(void *memory, size_t bytes)
{
    __atomic_fetch_sub(&mapped_bytes, (int64_t)bytes, __ATOMIC_RELAXED);
    return __real_munmap(memory, bytes);
}

/* Copies, as an mremap that moves memory may do. */
void *__wrap_mremap(void *memory, size_t bytes, size_t bytes_new, int flags)
{
    (void)flags;
    void *grown = fails() ? MAP_FAILED
                          : __real_mmap(NULL, bytes_new, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED)
        return MAP_FAILED;
    __atomic_fetch_add(&mapped_bytes, (int64_t)bytes_new, __ATOMIC_RELAXED);
    memcpy(grown, memory, bytes);
    munmap(memory, bytes);
    return grown;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}
