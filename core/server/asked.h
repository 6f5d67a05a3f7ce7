/* What a library with and one without threads have in common: whether a server is asked for, and what
 * earlier headers had. */
#ifndef WR_SERVER_ASKED_H
#define WR_SERVER_ASKED_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the structs in 0.4; these never change. */
#define WR_SERVER_CONFIG_FIRST 104u
#define WR_SERVER_INFO_FIRST   136u

/* The variables that describe more ports. */
#define WR_PORT_VARIABLES 2u
extern const char *const wr_port_variables[WR_PORT_VARIABLES];

/* Does the environment allow a server, and, if `only_if_asked`, ask for it? */
bool wr_server_is_asked_for(bool only_if_asked);

#endif
