/*
 * The events of provider `Python`: one list, from which the library makes the metadata and an emit
 * function for each. README.md says what they do not show.
 *
 * A FunctionId is a small number, given when a function is first seen, never reused, and explained
 * by `Function`. A code object and a C function have one each.
 *
 * Calls (0x1), by the profile function of each thread:
 *   Call, Return    a function was entered, or a generator resumed; it returned, yielded, or was
 *                   left by an exception
 *   Function        what a FunctionId is: once at first sight, and all of them again at the end.
 *                   Kind is "Python" or "C"; Line is -1 for C functions
 * Collections (0x4), by gc.callbacks:
 *   GCStart, GCStop a collection of Generation, on the thread that caused it
 * Exceptions (0x8), by the trace function of each thread:
 *   Exception       an exception was raised in a Python function, or by what it called that is not
 *                   one. Message is the exception's first argument if that is a string
 */
#ifndef PYTHON_HOST_PROVIDER_H
#define PYTHON_HOST_PROVIDER_H

#include <weir/trace.h>

#define PYTHON_CALLS       0x1
#define PYTHON_COLLECTIONS 0x4
#define PYTHON_EXCEPTIONS  0x8

/* clang-format off */
#define PYTHON_EVENTS(EVENT, P)                                                                    \
    EVENT(P, Call, 1, 0, WEIR_LEVEL_VERBOSE, PYTHON_CALLS, (u64, FunctionId))                      \
    EVENT(P, Return, 2, 0, WEIR_LEVEL_VERBOSE, PYTHON_CALLS, (u64, FunctionId))                    \
    EVENT(P, Function, 3, 0, WEIR_LEVEL_INFO, PYTHON_CALLS | PYTHON_EXCEPTIONS,                    \
          (u64, FunctionId), (str, Name), (str, File), (i32, Line), (str, Kind))                   \
    EVENT(P, GCStart, 4, 0, WEIR_LEVEL_INFO, PYTHON_COLLECTIONS, (u32, Generation))                \
    EVENT(P, GCStop, 5, 0, WEIR_LEVEL_INFO, PYTHON_COLLECTIONS,                                    \
          (u32, Generation), (u64, Collected), (u64, Uncollectable))                               \
    EVENT(P, Exception, 6, 0, WEIR_LEVEL_WARNING, PYTHON_EXCEPTIONS,                               \
          (u64, FunctionId), (str, Type), (str, Message))
/* clang-format on */

WEIR_PROVIDER(Python, PYTHON_EVENTS)

/* True if a running session has enabled the event. */
#define PYTHON_WANTS(Name) weir_event_is_enabled(&weir_events_Python.Name)

#endif
