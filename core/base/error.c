#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <weir/version.h>
#include "base/compiler.h"

WR_COLD enum weir_result wr_fail(struct weir_error *error, enum weir_result result,
                                 const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return result;
}

WR_COLD const char *weir_result_text(enum weir_result result)
{
    static const char *const texts[] = {
        [WEIR_OK] = "ok",
        [WEIR_BAD_ARGUMENT] = "bad argument",
        [WEIR_NO_MEMORY] = "no memory",
        [WEIR_BAD_STATE] = "bad state",
        [WEIR_NOT_FOUND] = "not found",
        [WEIR_EXISTS] = "already exists",
        [WEIR_LIMIT] = "limit reached",
        [WEIR_IO] = "input/output error",
        [WEIR_TIMEOUT] = "deadline passed",
        [WEIR_SYSTEM] = "system error",
        [WEIR_BUSY] = "busy",
    };
    return (unsigned)result < sizeof texts / sizeof texts[0] ? texts[result] : "unknown result";
}

#define TEXT(number)  TEXT2(number)
#define TEXT2(number) #number

const char *weir_version(void)
{
    return TEXT(WEIR_VERSION_MAJOR) "." TEXT(WEIR_VERSION_MINOR) "." TEXT(WEIR_VERSION_PATCH);
}

uint32_t weir_version_number(void)
{
    return WEIR_VERSION_NUMBER;
}
