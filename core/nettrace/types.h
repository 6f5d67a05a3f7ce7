/* The field types of weir/trace.h: their sizes, and which of them have a fixed size; and the steps in
 * which a payload is copied. */
#ifndef WR_NETTRACE_TYPES_H
#define WR_NETTRACE_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/trace.h>

#define WR_TYPE_CODE(type) ((int)(type)&255) /* the format's code; an array has its element's */
#define WR_TYPE_ARRAY      256

/* Bytes of a number, a bool or a guid, or of an array's element; 0 for strings, objects and unknown
 * types. */
static inline uint32_t wr_type_bytes(enum weir_type type)
{
    switch (WR_TYPE_CODE(type)) {
    case WEIR_TYPE_i8:
    case WEIR_TYPE_u8:
        return 1;
    case WEIR_TYPE_i16:
    case WEIR_TYPE_u16:
        return 2;
    case WEIR_TYPE_bool: /* 32 bits in the file, so 32 bits everywhere */
    case WEIR_TYPE_i32:
    case WEIR_TYPE_u32:
    case WEIR_TYPE_f32:
        return 4;
    case WEIR_TYPE_i64:
    case WEIR_TYPE_u64:
    case WEIR_TYPE_f64:
        return 8;
    case WEIR_TYPE_guid:
        return 16;
    default:
        return 0;
    }
}

static inline bool wr_type_is_array(enum weir_type type)
{
    int code = WR_TYPE_CODE(type);
    bool is_element = (code >= WEIR_TYPE_i8 && code <= WEIR_TYPE_u64) || code == WEIR_TYPE_object;
    return ((int)type & ~255) == WR_TYPE_ARRAY && is_element;
}

/* Has it fields? */
static inline bool wr_type_is_object(enum weir_type type)
{
    return type == WEIR_TYPE_object || type == WEIR_TYPE_array_object;
}

static inline bool wr_type_is_integer(enum weir_type type)
{
    return (type >= WEIR_TYPE_i8 && type <= WEIR_TYPE_u64) || type == WEIR_TYPE_bool8;
}

static inline bool wr_type_is_string(enum weir_type type)
{
    return type == WEIR_TYPE_str || type == WEIR_TYPE_str16 || type == WEIR_TYPE_strn;
}

static inline bool wr_type_is_fixed(enum weir_type type)
{
    return ((int)type < WR_TYPE_ARRAY && wr_type_bytes(type) != 0) || type == WEIR_TYPE_bool8;
}

static inline bool wr_type_is_known(enum weir_type type)
{
    return wr_type_is_fixed(type) || wr_type_is_array(type) || wr_type_is_string(type) ||
           type == WEIR_TYPE_raw || type == WEIR_TYPE_object;
}

/* A payload of variable size is a list of steps: each string, each array, raw bytes, and the bytes of
 * the fixed fields between them. */
enum wr_step {
    WR_STEP_END,
    WR_STEP_FIXED,
    WR_STEP_STR,
    WR_STEP_STR16,
    /* Those from here on have a count in the emitter's payload. */
    WR_STEP_ARRAY,
    WR_STEP_STRN,
    WR_STEP_RAW,
    WR_STEP_WHOLE /* the only step of a payload of fixed fields */
};
struct wr_payload_step {
    uint8_t kind;           /* enum wr_step */
    uint16_t element_bytes; /* of a string, an array or raw bytes */
    uint16_t file_bytes;    /* of an element, at most */
    uint16_t fixed_bytes;   /* of fixed fields */
};

/* `steps` has room for one more than the schema has fields, with those of objects. */
void wr_payload_steps(const struct weir_schema *schema, struct wr_payload_step *steps);

#endif
