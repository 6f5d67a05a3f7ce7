/* The payload of an event: measures what an emitter built, and copies it into a record. */
#include "event/payload.h"

void wr_payload_measure(const struct wr_event_definition *definition, const void *payload,
                        struct wr_payload_size *size)
{
    if (definition->is_fixed)
        size->bytes = definition->payload_bytes;
    else
        wr_payload_measure_steps(definition, payload, size);
}

WR_INLINE void put_all(const struct wr_event_definition *definition, const void *payload,
                       const struct wr_payload_size *size, struct wr_record_out *out, bool spans)
{
    if (!definition->is_fixed)
        wr_payload_put_steps(definition, payload, size, out, spans);
    else if (definition->payload_bytes)
        wr_payload_put_bytes(out, payload, definition->payload_bytes, spans);
}

WR_COLD void wr_payload_put(const struct wr_event_definition *definition, const void *payload,
                            const struct wr_payload_size *size, struct wr_record_out *out)
{
    put_all(definition, payload, size, out, true);
}

void wr_payload_write(const struct wr_event_definition *definition, const void *payload,
                      const struct wr_payload_size *size, unsigned char *out)
{
    struct wr_record_out contiguous = {.at = out};
    put_all(definition, payload, size, &contiguous, false);
}
