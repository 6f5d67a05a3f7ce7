/*
 * The version of these headers, and of the library at run time. Within one major version, and from
 * 0.2 on, a library runs hosts that were compiled with earlier headers.
 */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#include <stdint.h>
#include <weir/result.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 7
#define WEIR_VERSION_PATCH 0

/* For comparisons: 3000 is 0.3.0. */
#define WEIR_VERSION_NUMBER \
    (WEIR_VERSION_MAJOR * 1000000 + WEIR_VERSION_MINOR * 1000 + WEIR_VERSION_PATCH)

/* The library's version as text, such as "0.3.0", and as WEIR_VERSION_NUMBER. Any thread, any
 * context; neither blocks nor allocates. */
WEIR_API const char *weir_version(void);
WEIR_API uint32_t weir_version_number(void);

#ifdef __cplusplus
}
#endif

#ifdef WEIR_DISABLE
#define WEIR_DISABLE_VERSION_
#include <weir/disabled.h>
#endif
#endif
