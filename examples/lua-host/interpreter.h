/* The standalone interpreter: what the program lua5.4 does with its command line. */
#ifndef LUA_HOST_INTERPRETER_H
#define LUA_HOST_INTERPRETER_H

/* Opens a state, runs the command line, closes the state. Returns the status to exit with. */
int interpreter_run(int argc, char **argv);

#endif
