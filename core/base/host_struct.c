#include "base/host_struct.h"

#include <string.h>
#include <weir/version.h>
#include "base/compiler.h"
#include "base/error.h"

WR_COLD bool wr_host_size_is_known(size_t size, size_t bytes_first, size_t bytes)
{
    return size >= bytes_first && size <= bytes && size % sizeof(uint64_t) == 0;
}

WR_COLD enum weir_result wr_host_struct_take(const struct wr_host_struct *kind, void *own,
                                             const void *host, struct weir_error *error)
{
    size_t size;
    memcpy(&size, host, sizeof size);
    if (size > kind->bytes)
        return wr_fail(
            error, WEIR_BAD_ARGUMENT,
            "%s.size is %zu, but this library, %s, knows %zu bytes: it is older than the "
            "headers of its host",
            kind->name, size, weir_version(), kind->bytes);
    if (!wr_host_size_is_known(size, kind->bytes_first, kind->bytes))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "%s.size is %zu; start from %s", kind->name, size,
                       kind->init);
    memcpy(own, host, size);
    memcpy(own, &kind->bytes, sizeof kind->bytes);
    return WEIR_OK;
}
