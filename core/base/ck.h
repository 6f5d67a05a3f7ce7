/* Included before ck's headers. The library contains copies of ck's objects, in which the functions that it calls have our
 * prefix, and all others are local (CMakeLists.txt reads the list): a host may link ck as well, of any version. Where no
 * copies are linked, WR_CK_COPIED is not defined. */
#ifndef WR_BASE_CK_H
#define WR_BASE_CK_H

#ifdef WR_CK_COPIED
#define ck_ec32_wait_slow wr_ck_ec32_wait_slow
#define ck_ec32_wake      wr_ck_ec32_wake
#define ck_hs_get         wr_ck_hs_get
#define ck_hs_init        wr_ck_hs_init
#define ck_hs_put         wr_ck_hs_put
#define ck_hs_remove      wr_ck_hs_remove
#define ck_ec64_wake      wr_absent_ck_ec64_wake

/* Objcopy cannot hide symbols, but the linker hides what one object declares so. */
#define WR_CK_HIDDEN(function) \
    extern __typeof__(function) function __attribute__((visibility("hidden")))
/* Nothing calls it, but -O0 keeps inline functions of ck that do. */
#define WR_CK_ABSENT(function) \
    extern __typeof__(function) function __attribute__((weak, visibility("hidden")))
#else
#define WR_CK_HIDDEN(function) _Static_assert(1, "")
#define WR_CK_ABSENT(function) _Static_assert(1, "")
#endif

#endif
