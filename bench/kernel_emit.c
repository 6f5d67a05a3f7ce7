#include "kernel.h"

#include "events.h"

uint64_t bench_emit_0(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes0);
    return written;
}

uint64_t bench_emit_8(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes8, i);
    return written;
}

uint64_t bench_emit_16(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes16, i, i * 3);
    return written;
}

uint64_t bench_emit_32(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    return written;
}

uint64_t bench_emit_32_ordered(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Ordered32, i, 2, i * 3, i ^ 0x5555);
    return written;
}

uint64_t bench_emit_32_at(uint64_t count)
{
    uint64_t written = 0, stamp = weir_clock();
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT_AT(stamp, WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    return written;
}

uint64_t bench_emit_32_batch(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count;) {
        uint64_t stamp = weir_clock();
        uint64_t end = count - i < BENCH_BATCH ? count : i + BENCH_BATCH;
        for (; i < end; i++)
            written += WEIR_EMIT_AT(stamp, WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    }
    return written;
}

uint64_t bench_emit_128(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes128, i, 2, i * 3, i ^ 0x5555, i, 6, i * 7, i ^ 0x8888,
                             i, 10, i * 11, i ^ 0xcccc, i, 14, i * 15, i ^ 0xffff);
    return written;
}

/* 32 bytes of fields, a count of two, and the rest. */
uint64_t bench_emit_1024(uint64_t count)
{
    static const uint8_t data[992] = {1, 2, 3};
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes1024, i, 2, i * 3, i ^ 0x5555, data, 990);
    return written;
}
