/*
 * How a provider's list becomes code: the emitters, and the macros WEIR_PROVIDER,
 * WEIR_PROVIDER_DEFINE, WEIR_EMIT, WEIR_EMIT_AT, _WITH and _TO. weir/trace.h includes it, and says
 * how to use them.
 *
 * No body here has a token of one or two letters that is not a parameter: a host's macro of that
 * name would replace it.
 */
#ifndef WEIR_EMITTERS_H
#define WEIR_EMITTERS_H

#include <weir/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_PACKED_BYTES_MAX_ 40u
#define WEIR_INLINE_           static inline __attribute__((always_inline))

/* A payload in words. The compiler keeps it in registers: every index and shift is a constant. A
 * payload that passes through memory instead, field by field, would wait there: the processor
 * cannot forward several narrow stores to one load of a word. */
struct weir_packed_ {
    uint64_t word[WEIR_PACKED_BYTES_MAX_ / 8 + 1];
    size_t bytes;
};

/* Appends the low bytes of `value`. The other bytes are 0. */
WEIR_INLINE_ void weir_pack_(struct weir_packed_ *packed, uint64_t value, size_t bytes)
{
    size_t index = packed->bytes / 8, shift = packed->bytes % 8 * 8;
    packed->bytes += bytes;
    if (packed->bytes > WEIR_PACKED_BYTES_MAX_)
        return;
    packed->word[index] |= value << shift;
    if (shift + bytes * 8 > 64)
        packed->word[index + 1] |= value >> (64 - shift);
}

WEIR_INLINE_ void weir_pack_guid_(struct weir_packed_ *packed, const struct weir_guid *guid)
{
    uint64_t half[2];
    __builtin_memcpy(half, guid->bytes, sizeof half);
    weir_pack_(packed, half[0], sizeof half[0]);
    weir_pack_(packed, half[1], sizeof half[1]);
}

/* A string of 4 GiB is too large as well. */
WEIR_INLINE_ uint32_t weir_length_(size_t bytes)
{
    return bytes < UINT32_MAX ? WEIR_CAST_(uint32_t, bytes) : UINT32_MAX;
}

WEIR_INLINE_ uint64_t weir_bits_f32_(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

WEIR_INLINE_ uint64_t weir_bits_f64_(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

WEIR_INLINE_ bool weir_emit_packed_(const struct weir_event *event,
                                    const struct weir_packed_ *packed)
{
    const uint64_t *word = packed->word;
    switch ((packed->bytes + 7) / 8) {
    case 0:
        return weir_emit_words0(event);
    case 1:
        return weir_emit_words1(event, word[0]);
    case 2:
        return weir_emit_words2(event, word[0], word[1]);
    case 3:
        return weir_emit_words3(event, word[0], word[1], word[2]);
    case 4:
        return weir_emit_words4(event, word[0], word[1], word[2], word[3]);
    default:
        return weir_emit_words5(event, word[0], word[1], word[2], word[3], word[4]);
    }
}

/* Five words and a stamp are more than the calling convention has registers for. */
WEIR_INLINE_ bool weir_emit_packed_at_(const struct weir_event *event, uint64_t stamp,
                                       const struct weir_packed_ *packed)
{
    const uint64_t *word = packed->word;
    switch ((packed->bytes + 7) / 8) {
    case 0:
        return weir_emit_words0_at(event, stamp);
    case 1:
        return weir_emit_words1_at(event, stamp, word[0]);
    case 2:
        return weir_emit_words2_at(event, stamp, word[0], word[1]);
    case 3:
        return weir_emit_words3_at(event, stamp, word[0], word[1], word[2]);
    case 4:
        return weir_emit_words4_at(event, stamp, word[0], word[1], word[2], word[3]);
    default:
        return weir_emit_at(event, stamp, word);
    }
}

/* clang-format off */
#define WEIR_CAT_(a, b) WEIR_CAT2_(a, b)
#define WEIR_CAT2_(a, b) a##b
#define WEIR_COMMA_() ,
#define WEIR_NOTHING_()

/* The 24th argument, which follows the 6 + 17 that EVENT() takes with all fields and an opcode. With
 * fewer it is a word that the caller has appended; with more it is a field, whose parentheses call
 * the probe, and the result is MANY. */
#define WEIR_PICK_(...) WEIR_PICK2_(WEIR_PICK3_(__VA_ARGS__))
#define WEIR_PICK2_(word) WEIR_PICK4_(WEIR_PROBE_ word, word, ~)
#define WEIR_PICK3_(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,...) x
#define WEIR_PICK4_(...) WEIR_PICK5_(__VA_ARGS__)
#define WEIR_PICK5_(a, b, ...) b
#define WEIR_PROBE_(...) ~, MANY

/* How many fields EVENT(P, Name, id, version, level, keywords, fields...) has, an opcode included: 0
 * to 17 or MANY; and once the opcode is taken out: NONE, SOME or MANY. */
#define WEIR_FIELDS_(...) \
    WEIR_PICK_(__VA_ARGS__,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0,~)
#define WEIR_KIND_(...) \
    WEIR_PICK_(__VA_ARGS__,MANY,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,\
               SOME,SOME,SOME,NONE,~)

/* M on each field, with S() between them. */
#define WEIR_EACH_(M, S, ...) \
    WEIR_CAT_(WEIR_EACH_, WEIR_FIELDS_(__VA_ARGS__))(M, S, __VA_ARGS__)
#define WEIR_EACH_MANY(...)
#define WEIR_EACH_0(M,S,P,N,I,V,L,K)
#define WEIR_EACH_1(M,S,P,N,I,V,L,K,a) M a
#define WEIR_EACH_2(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_1(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_3(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_2(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_4(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_3(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_5(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_4(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_6(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_5(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_7(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_6(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_8(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_7(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_9(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_8(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_10(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_9(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_11(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_10(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_12(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_11(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_13(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_12(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_14(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_13(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_15(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_14(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_16(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_15(M,S,P,N,I,V,L,K,__VA_ARGS__)
#define WEIR_EACH_17(M,S,P,N,I,V,L,K,a,...) M a S() WEIR_EACH_16(M,S,P,N,I,V,L,K,__VA_ARGS__)

/* EVENT()'s arguments without (opcode, N), which stands among the fields but is none. */
#define WEIR_STRIP_(...) \
    WEIR_CAT_(WEIR_STRIP_, \
              WEIR_PICK_(__VA_ARGS__,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,\
                         SOME,SOME,SOME,SOME,NONE,~))(__VA_ARGS__)
#define WEIR_STRIP_NONE(...) __VA_ARGS__
#define WEIR_STRIP_MANY(...) __VA_ARGS__
#define WEIR_STRIP_SOME(P, N, I, V, L, K, ...) \
    P, N, I, V, L, K WEIR_EACH_(WEIR_KEEP_, WEIR_NOTHING_, P, N, I, V, L, K, __VA_ARGS__)
#define WEIR_KEEP_(type, name) WEIR_CAT_(WEIR_KEEP_, WEIR_IS_(type))(type, name)
#define WEIR_KEEP_FIELD(type, name) , (type, name)
#define WEIR_KEEP_OPCODE(type, name)

/* FIELD or OPCODE. */
#define WEIR_IS_(type) WEIR_PICK4_(WEIR_IS_##type, FIELD, ~)
#define WEIR_IS_opcode ~, OPCODE

/* What is added up: the opcodes; and one for each, or two for one that a byte does not hold. */
#define WEIR_OPCODE_(type, name) WEIR_CAT_(WEIR_OPCODE_, WEIR_IS_(type))(name)
#define WEIR_OPCODE_FIELD(name)
#define WEIR_OPCODE_OPCODE(name) + (name)
#define WEIR_COUNT_(type, name) WEIR_CAT_(WEIR_COUNT_, WEIR_IS_(type))(name)
#define WEIR_COUNT_FIELD(name)
#define WEIR_COUNT_OPCODE(name) + (WEIR_CAST_(uint8_t, name) == (name) ? 1 : 2)

/* Per type: parameter, member of the payload, assignment, and packing into words. A guid is copied, a
 * bool widened. What has a reference is not packed. */
#define WEIR_PARAM_(type, name)  WEIR_PARAM_##type(name)
#define WEIR_MEMBER_(type, name) WEIR_MEMBER_##type(name)
#define WEIR_STORE_(type, name)  WEIR_STORE_##type(name)
#define WEIR_PACK_(type, name)   WEIR_PACK_##type(name)
#define WEIR_FIELD_(type, name)  { #name, WEIR_TYPE_##type },
#define WEIR_NAMES_(type, name)  WEIR_PICK4_(WEIR_NAMES_##type, WEIR_NULL_, ~),
#define WEIR_OBJECTS_(type, name) \
    WEIR_CAT_(WEIR_OBJECTS_, WEIR_PICK4_(WEIR_HOLDS_##type, NONE, ~))(type)
#define WEIR_OBJECTS_NONE(type)
#define WEIR_OBJECTS_SOME(type) WEIR_OBJECT_##type,
#define WEIR_STORE1_(name) weir_payload_.name = name;
#define WEIR_STORE2_(name) \
    weir_payload_.name = name; weir_payload_.weir_count_of_##name = weir_count_of_##name;
#define WEIR_PACK0_(name) weir_packed_.bytes += WEIR_PACKED_BYTES_MAX_ + 1;
#define WEIR_PACK1_(name) weir_pack_(&weir_packed_, name, sizeof name);
#ifndef __cplusplus /* In C before C23, `bool` is a macro for _Bool and arrives here expanded. */
#define WEIR_PARAM__Bool WEIR_PARAM_bool
#define WEIR_MEMBER__Bool WEIR_MEMBER_bool
#define WEIR_STORE__Bool WEIR_STORE_bool
#define WEIR_PACK__Bool WEIR_PACK_bool
#define WEIR_TYPE__Bool WEIR_TYPE_bool
#endif
#define WEIR_PARAM_bool(name) bool name
#define WEIR_MEMBER_bool(name) uint32_t name;
#define WEIR_STORE_bool(name) weir_payload_.name = name ? 1u : 0u;
#define WEIR_PACK_bool(name) weir_pack_(&weir_packed_, name ? 1u : 0u, sizeof(uint32_t));
#define WEIR_PARAM_bool8(name) bool name
#define WEIR_MEMBER_bool8(name) uint8_t name;
#define WEIR_STORE_bool8(name) weir_payload_.name = name ? 1u : 0u;
#define WEIR_PACK_bool8(name) weir_pack_(&weir_packed_, name ? 1u : 0u, sizeof(uint8_t));
#define WEIR_PARAM_enum(type, names) WEIR_PARAM_##type /* the field's name follows */
#define WEIR_MEMBER_enum(type, names) WEIR_MEMBER_##type
#define WEIR_STORE_enum(type, names) WEIR_STORE_##type
#define WEIR_PACK_enum(type, names) WEIR_PACK_##type
#define WEIR_TYPE_enum(type, names) WEIR_TYPE_##type
#define WEIR_NAMES_enum(type, names) ~, &weir_enum_##names
#define WEIR_PARAM_guid(name) const struct weir_guid *name
#define WEIR_MEMBER_guid(name) struct weir_guid name;
#define WEIR_STORE_guid(name) weir_payload_.name = *name;
#define WEIR_PACK_guid(name) weir_pack_guid_(&weir_packed_, name);
/* Of struct(Name) and array_struct(Name), which the field's name in parentheses follows. */
#define WEIR_PARAM_struct(object) const struct weir_struct_##object *WEIR_NAME_
#define WEIR_MEMBER_struct(object) struct weir_struct_##object WEIR_NAME_END_
#define WEIR_STORE_struct(object) WEIR_STORE_guid
#define WEIR_PACK_struct(object) WEIR_PACK0_
#define WEIR_TYPE_struct(object) WEIR_TYPE_object
#define WEIR_HOLDS_struct(object) ~, SOME
#define WEIR_OBJECT_struct(object) &weir_object_##object
#define WEIR_PARAM_array_struct(object) const struct weir_struct_##object *WEIR_NAME_COUNT_
#define WEIR_MEMBER_array_struct(object) const struct weir_struct_##object *WEIR_NAME_COUNT_END_
#define WEIR_STORE_array_struct(object) WEIR_STORE2_
#define WEIR_PACK_array_struct(object) WEIR_PACK0_
#define WEIR_TYPE_array_struct(object) WEIR_TYPE_array_object
#define WEIR_HOLDS_array_struct(object) ~, SOME
#define WEIR_OBJECT_array_struct(object) &weir_object_##object
#define WEIR_NAME_(name) name
#define WEIR_NAME_END_(name) name;
#define WEIR_NAME_COUNT_(name) name, uint32_t weir_count_of_##name
#define WEIR_NAME_COUNT_END_(name) name; uint32_t weir_count_of_##name;
#define WEIR_PARAM_i8(name) int8_t name
#define WEIR_MEMBER_i8(name) int8_t name;
#define WEIR_STORE_i8 WEIR_STORE1_
#define WEIR_PACK_i8(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint8_t, name), sizeof name);
#define WEIR_PARAM_u8(name) uint8_t name
#define WEIR_MEMBER_u8(name) uint8_t name;
#define WEIR_STORE_u8 WEIR_STORE1_
#define WEIR_PACK_u8 WEIR_PACK1_
#define WEIR_PARAM_i16(name) int16_t name
#define WEIR_MEMBER_i16(name) int16_t name;
#define WEIR_STORE_i16 WEIR_STORE1_
#define WEIR_PACK_i16(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint16_t, name), sizeof name);
#define WEIR_PARAM_u16(name) uint16_t name
#define WEIR_MEMBER_u16(name) uint16_t name;
#define WEIR_STORE_u16 WEIR_STORE1_
#define WEIR_PACK_u16 WEIR_PACK1_
#define WEIR_PARAM_i32(name) int32_t name
#define WEIR_MEMBER_i32(name) int32_t name;
#define WEIR_STORE_i32 WEIR_STORE1_
#define WEIR_PACK_i32(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint32_t, name), sizeof name);
#define WEIR_PARAM_u32(name) uint32_t name
#define WEIR_MEMBER_u32(name) uint32_t name;
#define WEIR_STORE_u32 WEIR_STORE1_
#define WEIR_PACK_u32 WEIR_PACK1_
#define WEIR_PARAM_i64(name) int64_t name
#define WEIR_MEMBER_i64(name) int64_t name;
#define WEIR_STORE_i64 WEIR_STORE1_
#define WEIR_PACK_i64(name) weir_pack_(&weir_packed_, WEIR_CAST_(uint64_t, name), sizeof name);
#define WEIR_PARAM_u64(name) uint64_t name
#define WEIR_MEMBER_u64(name) uint64_t name;
#define WEIR_STORE_u64 WEIR_STORE1_
#define WEIR_PACK_u64 WEIR_PACK1_
#define WEIR_PARAM_f32(name) float name
#define WEIR_MEMBER_f32(name) float name;
#define WEIR_STORE_f32 WEIR_STORE1_
#define WEIR_PACK_f32(name) weir_pack_(&weir_packed_, weir_bits_f32_(name), sizeof name);
#define WEIR_PARAM_f64(name) double name
#define WEIR_MEMBER_f64(name) double name;
#define WEIR_STORE_f64 WEIR_STORE1_
#define WEIR_PACK_f64(name) weir_pack_(&weir_packed_, weir_bits_f64_(name), sizeof name);
#define WEIR_PARAM_str(name) const char *name
#define WEIR_MEMBER_str(name) const char *name;
#define WEIR_STORE_str WEIR_STORE1_
#define WEIR_PACK_str WEIR_PACK0_
#define WEIR_PARAM_strn(name) const char *name, size_t weir_count_of_##name
#define WEIR_MEMBER_strn(name) const char *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_strn(name) \
    weir_payload_.name = name; \
    weir_payload_.weir_count_of_##name = weir_length_(weir_count_of_##name);
#define WEIR_PACK_strn WEIR_PACK0_
#define WEIR_PARAM_raw(name) const void *name, size_t weir_count_of_##name
#define WEIR_MEMBER_raw(name) const void *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_raw WEIR_STORE_strn
#define WEIR_PACK_raw WEIR_PACK0_
#define WEIR_PARAM_str16(name) const uint16_t *name
#define WEIR_MEMBER_str16(name) const uint16_t *name;
#define WEIR_STORE_str16 WEIR_STORE1_
#define WEIR_PACK_str16 WEIR_PACK0_
#define WEIR_PARAM_array_i8(name) const int8_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i8(name) const int8_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i8 WEIR_STORE2_
#define WEIR_PACK_array_i8 WEIR_PACK0_
#define WEIR_PARAM_array_u8(name) const uint8_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u8(name) const uint8_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u8 WEIR_STORE2_
#define WEIR_PACK_array_u8 WEIR_PACK0_
#define WEIR_PARAM_array_i16(name) const int16_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i16(name) const int16_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i16 WEIR_STORE2_
#define WEIR_PACK_array_i16 WEIR_PACK0_
#define WEIR_PARAM_array_u16(name) const uint16_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u16(name) const uint16_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u16 WEIR_STORE2_
#define WEIR_PACK_array_u16 WEIR_PACK0_
#define WEIR_PARAM_array_i32(name) const int32_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i32(name) const int32_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i32 WEIR_STORE2_
#define WEIR_PACK_array_i32 WEIR_PACK0_
#define WEIR_PARAM_array_u32(name) const uint32_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u32(name) const uint32_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u32 WEIR_STORE2_
#define WEIR_PACK_array_u32 WEIR_PACK0_
#define WEIR_PARAM_array_i64(name) const int64_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_i64(name) const int64_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_i64 WEIR_STORE2_
#define WEIR_PACK_array_i64 WEIR_PACK0_
#define WEIR_PARAM_array_u64(name) const uint64_t *name, uint32_t weir_count_of_##name
#define WEIR_MEMBER_array_u64(name) const uint64_t *name; uint32_t weir_count_of_##name;
#define WEIR_STORE_array_u64 WEIR_STORE2_
#define WEIR_PACK_array_u64 WEIR_PACK0_

#define WEIR_EVENT_(...)                                                                       \
    WEIR_EVENT_OF_(WEIR_STRIP_(__VA_ARGS__))                                                   \
    WEIR_OPCODE_ASSERT_((0 WEIR_EACH_(WEIR_COUNT_, WEIR_NOTHING_, __VA_ARGS__)), __VA_ARGS__)
#define WEIR_OPCODE_ASSERT_(count, P, N, ...)                                                  \
    WEIR_STATIC_ASSERT_(count < 2,                                                             \
                        #P #N ": give an event one opcode at most, a constant from 0 to 255");
#define WEIR_EVENT_OF_(...) WEIR_CAT_(WEIR_EVENT_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)
#define WEIR_EVENT_NONE(P, N, ...) struct weir_event N;
#define WEIR_EVENT_SOME(P, N, ...) struct weir_event N;
#define WEIR_EVENT_MANY(P, N, ...) \
    struct weir_event N; WEIR_STATIC_ASSERT_(0, #P #N ": an event has at most 16 fields");

#define WEIR_EMITTER_(...) WEIR_EMITTER_OF_(WEIR_STRIP_(__VA_ARGS__))
#define WEIR_EMITTER_OF_(...)                                                                  \
    __attribute__((unused)) static inline bool                                                 \
    WEIR_EMITTER_NAME_(__VA_ARGS__)(                                                           \
        WEIR_CAT_(WEIR_PARAMS_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__))                         \
    {                                                                                          \
        WEIR_CAT_(WEIR_BODY_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)                            \
    }                                                                                          \
    __attribute__((unused)) static inline bool                                                 \
    WEIR_EMITTER_AT_NAME_(__VA_ARGS__)(                                                        \
        WEIR_CAT_(WEIR_PARAMS_AT_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__))                      \
    {                                                                                          \
        WEIR_CAT_(WEIR_BODY_AT_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)                         \
    }                                                                                          \
    __attribute__((unused)) static inline bool                                                 \
    WEIR_EMITTER_WITH_NAME_(__VA_ARGS__)(                                                      \
        WEIR_CAT_(WEIR_PARAMS_WITH_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__))                    \
    {                                                                                          \
        WEIR_CAT_(WEIR_BODY_WITH_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)                       \
    }                                                                                          \
    __attribute__((unused)) static inline bool                                                 \
    WEIR_EMITTER_TO_NAME_(__VA_ARGS__)(                                                        \
        WEIR_CAT_(WEIR_PARAMS_TO_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__))                      \
    {                                                                                          \
        WEIR_CAT_(WEIR_BODY_TO_, WEIR_KIND_(__VA_ARGS__))(__VA_ARGS__)                         \
    }
/* An emitter's P is a pair, (MyVM_, weir_events_MyVM), and that of the others MyVM_: the provider's
 * name would be expanded on its way through the list, if it is a macro too. */
#define WEIR_EMITTER_NAME_(P, N, ...) WEIR_CAT_(WEIR_PREFIX_ P, N)
#define WEIR_EMITTER_AT_NAME_(P, N, ...) WEIR_CAT_(WEIR_PREFIX_ P, N##_at)
#define WEIR_EMITTER_TO_NAME_(P, N, ...) WEIR_CAT_(WEIR_PREFIX_ P, N##_to)
#define WEIR_EMITTER_WITH_NAME_(P, N, ...) WEIR_CAT_(WEIR_PREFIX_ P, N##_with)
#define WEIR_PREFIX_(prefix, events) prefix
#define WEIR_EVENTS_(prefix, events) events
#define WEIR_PARAMS_NONE(...) void
#define WEIR_PARAMS_SOME(...) WEIR_EACH_(WEIR_PARAM_, WEIR_COMMA_, __VA_ARGS__)
#define WEIR_PARAMS_MANY(...) void
#define WEIR_PARAMS_AT_NONE(...) uint64_t weir_stamp_
#define WEIR_PARAMS_AT_SOME(...) uint64_t weir_stamp_, WEIR_PARAMS_SOME(__VA_ARGS__)
#define WEIR_PARAMS_AT_MANY(...) void
#define WEIR_PARAMS_TO_NONE(...) uint64_t weir_session_
#define WEIR_PARAMS_TO_SOME(...) uint64_t weir_session_, WEIR_PARAMS_SOME(__VA_ARGS__)
#define WEIR_PARAMS_TO_MANY(...) void
#define WEIR_PARAMS_WITH_NONE(...) const struct weir_context *weir_context_
#define WEIR_PARAMS_WITH_SOME(...) const struct weir_context *weir_context_, WEIR_PARAMS_SOME(__VA_ARGS__)
#define WEIR_PARAMS_WITH_MANY(...) void
#define WEIR_BODY_NONE(P, N, I, V, L, ...)                                                     \
    WEIR_ORDER_(L)                                                                             \
    return WEIR_HAS_STACK_(L) ? weir_emit_stack(&WEIR_EVENTS_ P.N, WEIR_NULL_)                 \
                              : weir_emit_words0(&WEIR_EVENTS_ P.N);
#define WEIR_BODY_AT_NONE(P, N, ...) return weir_emit_words0_at(&WEIR_EVENTS_ P.N, weir_stamp_);
#define WEIR_BODY_MANY(...) return false;
#define WEIR_BODY_AT_MANY(...) return false;
#define WEIR_BODY_TO_NONE(P, N, I, V, L, ...)                                                  \
    WEIR_ORDER_(L)                                                                             \
    return weir_session_emit(weir_session_, &WEIR_EVENTS_ P.N, WEIR_NULL_);
#define WEIR_BODY_TO_MANY(...) return false;
#define WEIR_BODY_WITH_NONE(P, N, I, V, L, ...)                                                \
    WEIR_ORDER_(L)                                                                             \
    return weir_emit_with(&WEIR_EVENTS_ P.N, WEIR_NULL_, weir_context_);
#define WEIR_BODY_WITH_MANY(...) return false;

#define WEIR_FIELD_ARRAY_(...) WEIR_FIELD_ARRAY_OF_(WEIR_STRIP_(__VA_ARGS__))
#define WEIR_FIELD_ARRAY_OF_(...)                                                              \
    static const struct weir_field WEIR_FIELDS_NAME_(__VA_ARGS__)[] = {                        \
        WEIR_EACH_(WEIR_FIELD_, WEIR_NOTHING_, __VA_ARGS__){ WEIR_NULL_, WEIR_TYPE_bool } };   \
    static const struct weir_enum *const WEIR_ENUMS_NAME_(__VA_ARGS__)[] = {                   \
        WEIR_EACH_(WEIR_NAMES_, WEIR_NOTHING_, __VA_ARGS__) WEIR_NULL_ };                      \
    static const struct weir_object *const WEIR_OBJECTS_NAME_(__VA_ARGS__)[] = {               \
        WEIR_EACH_(WEIR_OBJECTS_, WEIR_NOTHING_, __VA_ARGS__) WEIR_NULL_ };
#define WEIR_ENUMS_NAME_(P, N, ...) weir_enums_##P##N
#define WEIR_OBJECTS_NAME_(P, N, ...) weir_objects_##P##N
#define WEIR_FIELDS_NAME_(P, N, ...) weir_fields_##P##N
#define WEIR_HAS_STACK_(level) (((level) & WEIR_EVENT_STACK) != 0)
#define WEIR_ORDER_(level) if (((level) & WEIR_EVENT_ORDERED) != 0) weir_order();
#define WEIR_BODY_SOME(P, N, I, V, L, ...)                                                     \
    struct weir_packed_ weir_packed_ = { { 0, 0, 0, 0, 0, 0 }, 0 };                            \
    WEIR_ORDER_(L)                                                                             \
    WEIR_EACH_(WEIR_PACK_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                          \
    if (weir_packed_.bytes <= WEIR_PACKED_BYTES_MAX_)                                          \
        return WEIR_HAS_STACK_(L) ? weir_emit_stack(&WEIR_EVENTS_ P.N, weir_packed_.word)      \
                                  : weir_emit_packed_(&WEIR_EVENTS_ P.N, &weir_packed_);       \
    {                                                                                          \
        struct { WEIR_EACH_(WEIR_MEMBER_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__) }         \
            __attribute__((packed, aligned(8))) weir_payload_;                                 \
        WEIR_EACH_(WEIR_STORE_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                     \
        return WEIR_HAS_STACK_(L) ? weir_emit_stack(&WEIR_EVENTS_ P.N, &weir_payload_)         \
                                  : weir_emit(&WEIR_EVENTS_ P.N, &weir_payload_);              \
    }
#define WEIR_BODY_AT_SOME(P, N, ...)                                                           \
    struct weir_packed_ weir_packed_ = { { 0, 0, 0, 0, 0, 0 }, 0 };                            \
    WEIR_EACH_(WEIR_PACK_, WEIR_NOTHING_, P, N, __VA_ARGS__)                                   \
    if (weir_packed_.bytes <= WEIR_PACKED_BYTES_MAX_)                                          \
        return weir_emit_packed_at_(&WEIR_EVENTS_ P.N, weir_stamp_, &weir_packed_);            \
    {                                                                                          \
        struct { WEIR_EACH_(WEIR_MEMBER_, WEIR_NOTHING_, P, N, __VA_ARGS__) }                  \
            __attribute__((packed, aligned(8))) weir_payload_;                                 \
        WEIR_EACH_(WEIR_STORE_, WEIR_NOTHING_, P, N, __VA_ARGS__)                              \
        return weir_emit_at(&WEIR_EVENTS_ P.N, weir_stamp_, &weir_payload_);                   \
    }

#define WEIR_BODY_TO_SOME(P, N, I, V, L, ...)                                                  \
    struct { WEIR_EACH_(WEIR_MEMBER_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__) }             \
        __attribute__((packed, aligned(8))) weir_payload_;                                     \
    WEIR_ORDER_(L)                                                                             \
    WEIR_EACH_(WEIR_STORE_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                         \
    return weir_session_emit(weir_session_, &WEIR_EVENTS_ P.N, &weir_payload_);

#define WEIR_BODY_WITH_SOME(P, N, I, V, L, ...)                                                \
    struct { WEIR_EACH_(WEIR_MEMBER_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__) }             \
        __attribute__((packed, aligned(8))) weir_payload_;                                     \
    WEIR_ORDER_(L)                                                                             \
    WEIR_EACH_(WEIR_STORE_, WEIR_NOTHING_, P, N, I, V, L, __VA_ARGS__)                         \
    return weir_emit_with(&WEIR_EVENTS_ P.N, &weir_payload_, weir_context_);

#define WEIR_SCHEMA_(opcode, P, N, number, version, level, keywords, ...)                      \
    { sizeof(struct weir_schema), #N, weir_fields_##P##N,                                      \
      sizeof weir_fields_##P##N / sizeof weir_fields_##P##N[0] - 1,                            \
      sizeof(struct weir_field), keywords, number, version, level, opcode, { 0, 0, 0 },        \
      weir_enums_##P##N, weir_objects_##P##N },
#define WEIR_SCHEMA_ARGUMENTS_(...)                                                            \
    WEIR_SCHEMA_((0 WEIR_EACH_(WEIR_OPCODE_, WEIR_NOTHING_, __VA_ARGS__)), __VA_ARGS__, ~)

/*
 * Declares the events of provider P, and three emitters for each: P_Name(fields...);
 * P_Name_at(stamp, fields...) with a stamp of the caller's; and P_Name_to(session_id, fields...) to
 * one session. Emitters do not test whether the event is enabled; WEIR_EMIT, WEIR_EMIT_AT and
 * WEIR_EMIT_TO do.
 *
 * The symbols that these two macros make are hidden, so that a site finds its event without a load
 * from a table. A provider therefore belongs to one program or shared library: the one that has
 * WEIR_PROVIDER_DEFINE. Another one cannot emit its events; it defines a provider with a name of
 * its own, or calls a function of the first.
 */
#define WEIR_PROVIDER(P, EVENTS)                                                               \
    struct weir_events_##P { EVENTS(WEIR_EVENT_, P##_) };                                      \
    WEIR_SYMBOL_(, struct weir_events_##P, weir_events_##P)                                    \
    WEIR_SYMBOL_(const, struct weir_provider_declaration, weir_provider_##P)                   \
    _Pragma("GCC diagnostic push")                                                             \
    _Pragma("GCC diagnostic ignored \"-Wpacked\"") /* some payloads have no gaps anyway */     \
    EVENTS(WEIR_EMITTER_, (P##_, weir_events_##P))                                             \
    _Pragma("GCC diagnostic pop")

/* A struct of fields: (struct(Name), Field) and (array_struct(Name), Field). FIELDS(FIELD) is a list
 * of FIELD(type, Name), types as those of an event, without objects and raw. In front of
 * WEIR_PROVIDER. */
#define WEIR_STRUCT(Name, FIELDS)                                                              \
    _Pragma("GCC diagnostic push")                                                             \
    _Pragma("GCC diagnostic ignored \"-Wpacked\"") /* as of a payload */                       \
    struct weir_struct_##Name { FIELDS(WEIR_MEMBER_) } __attribute__((packed));                \
    _Pragma("GCC diagnostic pop")                                                              \
    WEIR_STRUCT_OBJECT_(Name, FIELDS)

/* Names for the values of fields: (enum(u8, Name), Field). VALUES(VALUE) is a list of VALUE(Name,
 * number). In front of WEIR_PROVIDER_DEFINE; what it makes is the file's own. */
#ifndef WEIR_DISABLE
#define WEIR_ENUM(Name, VALUES)                                                                \
    static const struct weir_enum_value weir_values_##Name[] = { VALUES(WEIR_ENUM_VALUE_) };   \
    __attribute__((unused)) static const struct weir_enum weir_enum_##Name = {                 \
        sizeof(struct weir_enum), #Name, weir_values_##Name,                                   \
        sizeof weir_values_##Name / sizeof weir_values_##Name[0],                              \
        sizeof(struct weir_enum_value) };
#define WEIR_ENUM_VALUE_(Name, number) { #Name, WEIR_CAST_(int64_t, number) },
#define WEIR_STRUCT_OBJECT_(Name, FIELDS)                                                      \
    static const struct weir_field weir_struct_fields_##Name[] = { FIELDS(WEIR_FIELD_) };      \
    __attribute__((unused)) static const struct weir_object weir_object_##Name = {             \
        sizeof(struct weir_object), weir_struct_fields_##Name,                                 \
        sizeof weir_struct_fields_##Name / sizeof weir_struct_fields_##Name[0],                \
        sizeof(struct weir_field), WEIR_NULL_ };

/* Defines what WEIR_PROVIDER declared; the provider's name is #P. */
#define WEIR_PROVIDER_DEFINE(P, EVENTS)                                                        \
    struct weir_events_##P weir_events_##P;                                                    \
    EVENTS(WEIR_FIELD_ARRAY_, P##_)                                                            \
    static const struct weir_schema weir_schemas_##P[] = {                                     \
        EVENTS(WEIR_SCHEMA_ARGUMENTS_, P##_) };                                                \
    const struct weir_provider_declaration weir_provider_##P = {                               \
        sizeof(struct weir_provider_declaration), WEIR_DECLARATION_VERSION,                    \
        sizeof weir_schemas_##P / sizeof weir_schemas_##P[0], sizeof(struct weir_event),       \
        sizeof(struct weir_schema), #P, &weir_events_##P, weir_schemas_##P };

#define WEIR_SYMBOL_(constant, type, name) \
    extern __attribute__((visibility("hidden"))) constant type name;
#define WEIR_IF_(events, N, call) (weir_event_is_enabled(&events.N) ? call : false)
#else /* a compiler leaves out what is static and not used */
#define WEIR_ENUM(Name, VALUES) VALUES(WEIR_ENUM_VALUE_)
#define WEIR_ENUM_VALUE_(Name, number) WEIR_STATIC_ASSERT_((number) < 1 || (number) > 0, #Name);
#define WEIR_STRUCT_OBJECT_(Name, FIELDS)
#define WEIR_PROVIDER_DEFINE(P, EVENTS)
#define WEIR_SYMBOL_(constant, type, name) __attribute__((unused)) static type name;
#define WEIR_IF_(events, N, call) weir_disabled_emit_(false && call)
#endif

/* WEIR_EMIT(P, Name, arguments...): emits if enabled; otherwise evaluates nothing. An event has up
 * to 32 arguments: two for each of 16 arrays. */
#define WEIR_EMIT(P, ...) \
    WEIR_CAT_(WEIR_EMIT_, WEIR_ARGUMENTS_(__VA_ARGS__))(weir_events_##P, P##_, __VA_ARGS__)
#define WEIR_EMIT_NONE(events, P, N) WEIR_IF_(events, N, P##N())
#define WEIR_EMIT_SOME(events, P, N, ...) \
    WEIR_IF_(events, N, P##N(__VA_ARGS__))
/* WEIR_EMIT_WITH(context, P, Name, arguments...): the same with a struct weir_context *, which is not
 * evaluated either if the event is off: weir_emit_with(). */
#define WEIR_EMIT_WITH(context, P, ...) \
    WEIR_CAT_(WEIR_EMIT_WITH_, WEIR_ARGUMENTS_(__VA_ARGS__)) \
    (context, weir_events_##P, P##_, __VA_ARGS__)
#define WEIR_EMIT_WITH_NONE(context, events, P, N) \
    WEIR_IF_(events, N, P##N##_with(context))
#define WEIR_EMIT_WITH_SOME(context, events, P, N, ...) \
    WEIR_IF_(events, N, P##N##_with(context, __VA_ARGS__))
/* WEIR_EMIT_AT(stamp, P, Name, arguments...): the same with a stamp of the caller's, see
 * weir_emit_at(). The stamp too is evaluated only if the event is enabled. */
#define WEIR_EMIT_AT(stamp, P, ...) \
    WEIR_CAT_(WEIR_EMIT_AT_, WEIR_ARGUMENTS_(__VA_ARGS__)) \
        (stamp, weir_events_##P, P##_, __VA_ARGS__)
#define WEIR_EMIT_AT_NONE(stamp, events, P, N) \
    WEIR_IF_(events, N, P##N##_at(stamp))
#define WEIR_EMIT_AT_SOME(stamp, events, P, N, ...) \
    WEIR_IF_(events, N, P##N##_at(stamp, __VA_ARGS__))
/* WEIR_EMIT_TO(session_id, P, Name, arguments...): the same to one session: weir_session_emit(). */
#define WEIR_EMIT_TO(session_id, P, ...) \
    WEIR_CAT_(WEIR_EMIT_TO_, WEIR_ARGUMENTS_(__VA_ARGS__)) \
        (session_id, weir_events_##P, P##_, __VA_ARGS__)
#define WEIR_EMIT_TO_NONE(session_id, events, P, N) \
    WEIR_IF_(events, N, P##N##_to(session_id))
#define WEIR_EMIT_TO_SOME(session_id, events, P, N, ...) \
    WEIR_IF_(events, N, P##N##_to(session_id, __VA_ARGS__))
#define WEIR_ARGUMENTS_(...) \
    WEIR_ARGUMENTS2_(__VA_ARGS__,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,  \
        SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,SOME,  \
        SOME,SOME,SOME,NONE,~)
#define WEIR_ARGUMENTS2_(N,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F,\
                         word,...) \
    word
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
