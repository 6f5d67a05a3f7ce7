/*
 * Events of random shapes and values, for format_random: what it defines, what an event's values are,
 * and what a file is to have of them, as text.
 */
#ifndef RANDOM_EVENTS_H
#define RANDOM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/weir.h>

#define DEFINITIONS  150u
#define FIELDS_MAX   9u
#define CHILDREN_MAX 3u
#define TEXT_BYTES   (1u << 20)

void random_start(uint64_t seed);
uint64_t draw(void);
uint32_t below(uint32_t bound);

/* Names the program that failed, and ends the process. */
void fail(const char *format, ...);

/* What was emitted, and what was read, as one text each. */
struct text {
    char at[TEXT_BYTES];
    size_t used;
};
extern struct text emitted, found;

void say(struct text *text, const char *format, ...);
void say_bytes(struct text *text, const void *bytes, size_t count);

/* A field, with the fields of an object, or of the elements of an array of objects. */
struct node {
    enum weir_type type;
    uint32_t child_count;
    struct node *children;
    struct weir_object object;
};

struct definition {
    struct weir_event *event;
    uint8_t version, opcode;
    bool has_stack, is_undescribed, has_arrays;
    uint32_t field_count;
    struct node fields[FIELDS_MAX];
};
extern struct definition definitions[DEFINITIONS];

void definition_make(struct weir_provider *provider, uint32_t number);

/* Does the file need a tag of V5 to describe it? */
bool needs_tag(const struct definition *definition);

/* Values for all fields of an event, valid until the next call; and says what the file is to have. */
void values_make(struct weir_value *values, const struct definition *definition);

#endif
