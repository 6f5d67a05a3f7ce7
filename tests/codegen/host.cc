// The same sites as C++.
#include "host.c"
