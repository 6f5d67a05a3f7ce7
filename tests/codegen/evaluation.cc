// The same as C++, with the shared library.
#include "evaluation.c"
