#include "brim_kernel.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define HEAD_WORDS      4u  /* index, counter, checksum, random number */
#define WORDS_MAX       64u /* fields of one event */
#define FIXED_BYTES_MAX (8u * WORDS_MAX)
#define HEAD_BYTES      (8u * HEAD_WORDS)
#define COUNT_BYTES     2u /* the length of an array in the stream */
#define INDEX_SHIFT     48
#define POOL_SHIFTS     1024u
#define POOL_BYTES      (BRIM_PAYLOAD_BYTES_MAX + POOL_SHIFTS)

static unsigned char pool[POOL_BYTES]; /* CONST after the first brim_event_define() */
static bool is_pool_full;

/* --- Content. -------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    return x ^ x >> 32;
}

static inline uint64_t random_of(uint64_t seed, uint64_t index, uint64_t counter)
{
    return mix(seed ^ index << INDEX_SHIFT ^ counter);
}

static inline uint64_t sum_of(uint64_t index, uint64_t counter, uint64_t random)
{
    return (counter + index * UINT64_C(0xD1B54A32D192ED03)) ^ random >> 7 ^ random << 31;
}

/* The first `count` words of a fixed payload. `count` is constant, so the loop is unrolled. */
static inline __attribute__((always_inline)) void
words_fill(uint64_t *words, uint32_t count, uint64_t seed, uint64_t index, uint64_t counter)
{
    uint64_t random = random_of(seed, index, counter);
    uint64_t sum = sum_of(index, counter, random);
    if (count < HEAD_WORDS) {
        const uint64_t small[3] = {index << INDEX_SHIFT | counter, sum, random};
        for (uint32_t i = 0; i < count; i++)
            words[i] = small[i];
        return;
    }
    words[0] = index;
    words[1] = counter;
    words[2] = sum;
    words[3] = random;
    for (uint32_t i = HEAD_WORDS; i < count; i++)
        words[i] = random + i;
}

static const unsigned char *pool_at(uint64_t random)
{
    return pool + random % POOL_SHIFTS;
}

bool brim_payload_read(const void *payload, uint32_t bytes, uint64_t seed, uint64_t *index,
                       uint64_t *counter)
{
    uint64_t words[WORDS_MAX] = {0}, expected[WORDS_MAX];
    uint32_t fixed = bytes <= FIXED_BYTES_MAX ? bytes : HEAD_BYTES;
    uint16_t count;
    memcpy(words, payload, fixed);
    bool is_small = fixed < HEAD_BYTES;
    *index = is_small ? words[0] >> INDEX_SHIFT : words[0];
    *counter = is_small ? words[0] & (BRIM_EVENTS_MAX * 2 - 1) : words[1];
    words_fill(expected, fixed / 8, seed, *index, *counter);
    if (bytes == 0 || fixed % 8 != 0 || memcmp(words, expected, fixed) != 0)
        return false;
    if (bytes == fixed)
        return true;
    const unsigned char *rest = (const unsigned char *)payload + HEAD_BYTES;
    uint32_t data_bytes = bytes - HEAD_BYTES - COUNT_BYTES;
    memcpy(&count, rest, sizeof count);
    return count == data_bytes && data_bytes <= BRIM_PAYLOAD_BYTES_MAX &&
           memcmp(rest + COUNT_BYTES, pool_at(expected[3]), data_bytes) == 0;
}

/* --- The event. ------------------------------------------------------------------------------ */

uint32_t brim_record_bytes(uint64_t payload_bytes)
{
    return (uint32_t)payload_bytes + (payload_bytes > FIXED_BYTES_MAX ? 16u : 8u);
}

static void fields_fill(struct weir_field *fields, char (*names)[8], uint32_t count)
{
    static const char *const head[HEAD_WORDS] = {"Emitter", "Counter", "Sum", "Random"};
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "Word%u", i);
        bool is_head = i < HEAD_WORDS && count >= HEAD_WORDS;
        fields[i] = (struct weir_field){is_head ? head[i] : names[i], WEIR_TYPE_u64};
    }
}

static void pool_fill(uint64_t seed)
{
    if (is_pool_full)
        return;
    is_pool_full = true;
    for (size_t i = 0; i < POOL_BYTES; i++)
        pool[i] = (unsigned char)(random_of(seed, 0, i) >> 40);
}

/* The provider is registered with the first event. */
static bool event_add(const struct weir_schema *schema, struct weir_event **event,
                      struct weir_error *error)
{
    static struct weir_provider *provider;
    if (!provider &&
        weir_provider_create(BRIM_PROVIDER_NAME, NULL, NULL, &provider, error) != WEIR_OK)
        return false;
    return weir_event_define(provider, schema, event, error) == WEIR_OK;
}

struct weir_event *brim_event_define(uint64_t payload_bytes, uint64_t seed,
                                     struct weir_error *error)
{
    static char names[WORDS_MAX][8];
    static uint16_t defined;
    struct weir_field fields[WORDS_MAX + 1];
    struct weir_event *event = NULL;
    bool is_fixed = payload_bytes <= FIXED_BYTES_MAX;
    uint32_t count = is_fixed ? (uint32_t)payload_bytes / 8 : HEAD_WORDS;
    fields_fill(fields, names, count);
    if (!is_fixed)
        fields[count++] = (struct weir_field){"Data", WEIR_TYPE_array_u8};
    struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                 .field_bytes = sizeof(struct weir_field),
                                 .name = "Event",
                                 .event_id = ++defined,
                                 .level = WEIR_LEVEL_INFO,
                                 .fields = fields,
                                 .field_count = count};
    pool_fill(seed);
    return event_add(&schema, &event, error) ? event : NULL;
}

/* --- The loop. ------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Start and end of a run of losses: two clock reads per run, none per event. */
static __attribute__((noinline)) void run_begins(struct brim_emitter *emitter)
{
    emitter->lost_since_ns = now_ns();
}

static __attribute__((noinline)) void run_ends(struct brim_emitter *emitter)
{
    uint64_t ns = now_ns() - emitter->lost_since_ns;
    emitter->lost_since_ns = 0;
    if (ns > emitter->loss_ns_max)
        emitter->loss_ns_max = ns;
}

void brim_emitter_end(struct brim_emitter *emitter)
{
    if (emitter->lost_since_ns)
        run_ends(emitter);
}

static inline __attribute__((always_inline)) bool account(struct brim_emitter *emitter,
                                                          bool is_written, uint64_t *written)
{
    if (__builtin_expect(!is_written, 0)) {
        if (!emitter->lost_since_ns)
            run_begins(emitter);
        return false;
    }
    if (__builtin_expect(emitter->lost_since_ns != 0, 0))
        run_ends(emitter);
    /* relaxed: a figure that is sampled now and then */
    __atomic_store_n(&emitter->written, ++*written, __ATOMIC_RELAXED);
    return true;
}

/* As a host does it: test whether the event is enabled, make the payload, emit. */
static inline __attribute__((always_inline)) void emit_fixed(struct brim_emitter *emitter,
                                                             uint64_t count, uint32_t words)
{
    struct weir_event *event = emitter->event;
    uint64_t seed = emitter->seed, index = emitter->index, counter = emitter->counter;
    uint64_t written = emitter->written;
    for (uint64_t end = counter + count; counter < end; counter++) {
        bool is_written = false;
        if (weir_event_is_enabled(event)) {
            uint64_t payload[WORDS_MAX];
            words_fill(payload, words, seed, index, counter);
            is_written = weir_emit(event, payload);
        }
        account(emitter, is_written, &written);
    }
    emitter->counter = counter;
}

static void emit_array(struct brim_emitter *emitter, uint64_t count)
{
    struct {
        uint64_t head[HEAD_WORDS];
        const void *data;
        uint32_t data_count;
    } __attribute__((packed, aligned(8))) payload;
    payload.data_count = emitter->payload_bytes - HEAD_BYTES - COUNT_BYTES;
    uint64_t written = emitter->written;
    for (; count > 0; count--) {
        uint64_t head[HEAD_WORDS];
        words_fill(head, HEAD_WORDS, emitter->seed, emitter->index, emitter->counter++);
        memcpy(payload.head, head, sizeof head);
        payload.data = pool_at(head[3]);
        account(emitter,
                weir_event_is_enabled(emitter->event) && weir_emit(emitter->event, &payload),
                &written);
    }
}

uint64_t brim_emit(struct brim_emitter *emitter, uint64_t count)
{
    uint64_t written = emitter->written;
    if (emitter->payload_bytes == 32)
        emit_fixed(emitter, count, 4);
    else if (emitter->payload_bytes <= FIXED_BYTES_MAX)
        emit_fixed(emitter, count, emitter->payload_bytes / 8);
    else
        emit_array(emitter, count);
    /* relaxed: as above */
    __atomic_store_n(&emitter->attempted, emitter->counter, __ATOMIC_RELAXED);
    return emitter->written - written;
}
