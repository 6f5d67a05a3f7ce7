#include "base/lines.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define LINE_BYTES 64u

bool wr_lines_can_evict(void)
{
    unsigned eax, ebx = 0, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_CLFLUSHOPT) != 0;
}

__attribute__((target("clflushopt"))) void wr_lines_evict(const void *at, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_ia32_clflushopt((const char *)at + i);
}

#else /* not measured elsewhere */

bool wr_lines_can_evict(void)
{
    return false;
}

void wr_lines_evict(const void *at, uint64_t bytes)
{
    (void)at;
    (void)bytes;
}
#endif
