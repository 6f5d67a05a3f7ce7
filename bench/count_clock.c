/*
 * For programs whose instructions are counted: the library takes the processor's counter as its
 * clock, even where the kernel does not offer it as a clock source, as in some guests. Such a
 * machine runs the same instructions as any other, so it can count them; how well the counter keeps
 * time does not matter here. The linker puts this in place of the fopen() of the library (--wrap),
 * which then finds that the kernel does not say, and takes the processor's word.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (strstr(path, "/available_clocksource")) {
        errno = ENOENT;
        return NULL;
    }
    return __real_fopen(path, mode);
}
