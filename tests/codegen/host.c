/* Typical code of a host. Each function is one site; check.py checks its object code. As C and,
 * from host.cc, as C++. */
#include <weir/trace.h>

#define HOST_EVENTS(EVENT, P)                                                                      \
    EVENT(P, Bare, 1, 0, WEIR_LEVEL_INFO, 0x1)                                                     \
    EVENT(P, Plain, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, A))                                          \
    EVENT(P, Wide, 3, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (u64, B), (u64, C), (u64, D))             \
    EVENT(P, Text, 4, 0, WEIR_LEVEL_INFO, 0x1, (str, A), (array_u8, B), (bool, C))                 \
    EVENT(P, Ordered, 5, 0, WEIR_LEVEL_INFO | WEIR_EVENT_ORDERED, 0x1, (u64, A))
WEIR_PROVIDER(Host, HOST_EVENTS)

#ifdef __cplusplus
extern "C" {
#endif

uint64_t host_value(void);

void host_site_bare(void);
void host_site_plain(uint64_t a);
void host_site_ordered(uint64_t a);
void host_site_wide(uint64_t a, uint64_t b);
void host_site_argument(void);
void host_site_text(const char *text, const uint8_t *bytes, uint32_t count);
bool host_site_result(uint64_t a);

void host_site_bare(void)
{
    WEIR_EMIT(Host, Bare);
}

void host_site_plain(uint64_t a)
{
    WEIR_EMIT(Host, Plain, a);
}

void host_site_ordered(uint64_t a)
{
    WEIR_EMIT(Host, Ordered, a);
}

void host_site_wide(uint64_t a, uint64_t b)
{
    WEIR_EMIT(Host, Wide, a, b, a + b, a ^ b);
}

/* The argument is a call: it must come after the branch. */
void host_site_argument(void)
{
    WEIR_EMIT(Host, Plain, host_value());
}

void host_site_text(const char *text, const uint8_t *bytes, uint32_t count)
{
    WEIR_EMIT(Host, Text, text, bytes, count, true);
}

bool host_site_result(uint64_t a)
{
    return WEIR_EMIT(Host, Plain, a);
}

#ifdef __cplusplus
}
#endif
