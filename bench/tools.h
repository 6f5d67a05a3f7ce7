/* Tools that the library's server serves, as programs that send and receive its bytes. */
#ifndef BENCH_TOOLS_H
#define BENCH_TOOLS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A tool asks for a session and has it stopped, while the stop of another tool's session waits for
 * that tool, which reads nothing. Ends the program with a message if the server does not serve.
 */
struct bench_beside_stuck {
    double start_s; /* until the tool has the reply to its request */
    double stop_s;  /* from its request until the stream has ended */
    bool was_stuck; /* the other session's stop was still waiting then */
};
struct bench_beside_stuck bench_beside_stuck_run(void);

#ifdef __cplusplus
}
#endif
#endif
