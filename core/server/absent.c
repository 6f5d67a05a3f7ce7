/* The server of a library that was built without threads: there is none. */
#include <string.h>
#include <weir/server.h>
#include "base/error.h"
#include "base/host_struct.h"
#include "server/asked.h"

enum weir_result weir_server_start(const struct weir_server_config *host, struct weir_error *error)
{
    static const struct wr_host_struct kind = {"config", "WEIR_SERVER_CONFIG_INIT",
                                               WR_SERVER_CONFIG_FIRST,
                                               sizeof(struct weir_server_config)};
    struct weir_server_config own = WEIR_SERVER_CONFIG_INIT;
    if (!host)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "config must not be NULL");
    enum weir_result result = wr_host_struct_take(&kind, &own, host, error);
    if (result != WEIR_OK || !wr_server_is_asked_for(own.only_if_asked))
        return result;
    return wr_fail(error, WEIR_SYSTEM,
                   "the server needs threads, and this library is built with WEIR_SINGLE_THREADED");
}

enum weir_result weir_server_wait_for_resume(struct weir_error *error)
{
    (void)error;
    return WEIR_OK;
}

enum weir_result weir_server_stop(struct weir_error *error)
{
    (void)error;
    return WEIR_OK;
}

enum weir_result weir_server_status(struct weir_server_info *info)
{
    if (!info || !wr_host_size_is_known(info->size, WR_SERVER_INFO_FIRST, sizeof *info))
        return WEIR_BAD_ARGUMENT;
    size_t size = info->size;
    memset(info, 0, size);
    info->size = size;
    return WEIR_OK;
}
