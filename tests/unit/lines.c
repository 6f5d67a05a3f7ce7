/* When the drain evicts what it has read: if lines come from far away, as loads behind no eviction tell. */
#include "unit.h"

#include "base/lines.h"

#define HZ        UINT64_C(1000000000)
#define LIMIT_NS  150u
#define NEAR_NS   100u
#define FAR_NS    200u
#define BEHIND_NS 450u /* a load behind evictions, however near the line is */
#define SEGMENTS  800u

/* Reads segments whose lines take `ns`. How many of them are evicted. */
static uint32_t evicted(struct wr_lines_way *way, uint32_t ns)
{
    bool is_behind = false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        if (wr_lines_is_timed(way))
            wr_lines_came(way, is_behind ? BEHIND_NS : ns);
        is_behind = wr_lines_pass(way);
        count += is_behind;
    }
    return count;
}

static void test_far_and_near(void **state)
{
    struct wr_lines_way way = {.far_ticks = 0};
    (void)state;
    wr_lines_watch(&way, HZ, LIMIT_NS);
    assert_int_equal(evicted(&way, NEAR_NS), 0);
    /* The first few tell nothing yet. */
    assert_in_range(evicted(&way, FAR_NS), SEGMENTS / 2, SEGMENTS);
    assert_int_equal(evicted(&way, FAR_NS), SEGMENTS - SEGMENTS / WR_LINES_TIMED_OF);
    (void)evicted(&way, NEAR_NS); /* the thread has moved to another processor */
    assert_int_equal(evicted(&way, NEAR_NS), 0);
}

/* A few that take long, as if a processor were away, decide nothing. */
static void test_few_are_long(void **state)
{
    struct wr_lines_way way = {.far_ticks = 0};
    (void)state;
    wr_lines_watch(&way, HZ, LIMIT_NS);
    (void)evicted(&way, NEAR_NS);
    for (int i = 0; i < 5; i++)
        wr_lines_came(&way, 1000 * FAR_NS);
    assert_int_equal(evicted(&way, NEAR_NS), 0);
}

/* How many loads of `ns` change the decision. */
static uint32_t loads_to_change(struct wr_lines_way *way, uint32_t ns)
{
    bool was_far = way->is_far;
    uint32_t count = 0;
    for (; way->is_far == was_far && count < SEGMENTS; count++)
        wr_lines_came(way, ns);
    return count;
}

/* As many on either side decide nothing. */
static void test_many_more_decide(void **state)
{
    struct wr_lines_way way = {.far_ticks = 0};
    (void)state;
    wr_lines_watch(&way, HZ, LIMIT_NS);
    for (uint32_t i = 0; i < SEGMENTS; i++)
        wr_lines_came(&way, i % 2 ? NEAR_NS : FAR_NS);
    assert_int_equal(loads_to_change(&way, FAR_NS), WR_LINES_SURE);
    assert_int_equal(loads_to_change(&way, NEAR_NS), 2 * WR_LINES_SURE);
    assert_int_equal(loads_to_change(&way, FAR_NS), 2 * WR_LINES_SURE);
}

static void test_never(void **state)
{
    struct wr_lines_way way = {.far_ticks = 0};
    (void)state;
    assert_int_equal(evicted(&way, FAR_NS), 0);
    wr_lines_watch(&way, HZ, 0);
    assert_int_equal(evicted(&way, FAR_NS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_far_and_near), cmocka_unit_test(test_few_are_long),
        cmocka_unit_test(test_many_more_decide), cmocka_unit_test(test_never)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
