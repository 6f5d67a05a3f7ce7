/*
 * What makes the interpreter emit: a profile function and a trace function in each thread, and a
 * callback of the collector. They are there while a session wants their events, and none of them
 * otherwise.
 */
#ifndef PYTHON_HOST_INSTRUMENTS_H
#define PYTHON_HOST_INSTRUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Once a process, with the GIL; `module` has the functions below. False with an exception. */
bool instruments_init(PyObject *module);

/* Puts in what is wanted now and takes out the rest. With the GIL. */
void instruments_update(void);

/* The calling thread neither emits nor gets instruments: what it runs is part of the tracing. With
 * the GIL, each time that the thread has a new state of Python's. */
void instruments_exempt_thread(void);

/* Functions of the module: the profile function that new threads begin with, and the callback. */
PyObject *instruments_begin_thread(PyObject *module, PyObject *arguments);
PyObject *instruments_collect(PyObject *module, PyObject *arguments);

#endif
