/* Prints the state of the machine, for programs that cannot measure it themselves. */
#include <math.h>
#include <stdio.h>
#include "machine.h"
#include "timing.h"

int main(void)
{
    bench_bind(-1);
    struct bench_machine machine = bench_machine_take(true);
    printf("{\"step_ns\": %.4f, \"trip_ns\": ", machine.step_ns);
    if (isnan(machine.trip_ns))
        printf("null}\n");
    else
        printf("%.1f}\n", machine.trip_ns);
    return 0;
}
