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
    switch (result) {
    case WEIR_OK:
        return "ok";
    case WEIR_BAD_ARGUMENT:
        return "bad argument";
    case WEIR_NO_MEMORY:
        return "no memory";
    case WEIR_BAD_STATE:
        return "bad state";
    case WEIR_NOT_FOUND:
        return "not found";
    case WEIR_EXISTS:
        return "already exists";
    case WEIR_LIMIT:
        return "limit reached";
    case WEIR_IO:
        return "input/output error";
    case WEIR_TIMEOUT:
        return "deadline passed";
    case WEIR_SYSTEM:
        return "system error";
    case WEIR_BUSY:
        return "busy";
    }
    return "unknown result";
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
