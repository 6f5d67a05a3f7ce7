/* All public headers. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/context.h>
#include <weir/heap.h>
#include <weir/plugin.h>
#include <weir/result.h>
#include <weir/server.h>
#include <weir/session.h>
#include <weir/trace.h>
#include <weir/version.h>

#endif
