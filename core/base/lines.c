#include "base/lines.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define LINE_BYTES 64u

/* A cache of an AMD processor is shared by a few cores. Half of the lines come from it within 50 to 97 ns, and
 * from another one within 134 to 171 (Zen 1). A cache that all cores share, over a mesh, is slower: half come
 * within 150 ns when it is busy (Xeon, model 207). */
#define FAR_NS_AMD  115u
#define FAR_NS_MESH 165u

uint32_t wr_lines_far_ns(void)
{
    unsigned eax, ebx = 0, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & bit_CLFLUSHOPT))
        return 0;
    __cpuid(0, eax, ebx, ecx, edx);
    return ebx == signature_AMD_ebx ? FAR_NS_AMD : FAR_NS_MESH;
}

__attribute__((target("clflushopt"))) void wr_lines_evict(const void *at, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_ia32_clflushopt((const char *)at + i);
}

#else /* not measured elsewhere */

uint32_t wr_lines_far_ns(void)
{
    return 0;
}

void wr_lines_evict(const void *at, uint64_t bytes)
{
    (void)at;
    (void)bytes;
}
#endif
