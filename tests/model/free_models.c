/*
 * The models of the free list over ck's queue: threads take segments and give them back. There are
 * enough segments that no take may find the list empty.
 */
#include "lane_models.h"
#include "product.h"

#define wr_free_list_init product_fifo_init
#define wr_free_list_give product_fifo_give
#define wr_free_list_take product_fifo_take
void wr_free_list_init(struct wr_free_list *list);
void wr_free_list_give(struct wr_free_list *list, struct wr_segment *segment);
struct wr_segment *wr_free_list_take(struct wr_free_list *list);

static struct {
    struct wr_free_list *list;
    struct wr_segment *segment[SEGMENTS_MAX];
    uint32_t segments;
    uint32_t kept[MODEL_THREADS_MAX];
} at;

static void setup(uint32_t segments)
{
    static const char *const names[SEGMENTS_MAX] = {"segment0", "segment1", "segment2", "segment3"};
    at.segments = segments;
    at.list = model_memory(sizeof *at.list);
    model_name(at.list->fifo, "head");
    model_name(&at.list->first_node, "first_node");
    wr_free_list_init(at.list);
    for (uint32_t i = 0; i < segments; i++) {
        at.segment[i] = model_memory(sizeof *at.segment[i]);
        model_name(at.segment[i], names[i]);
        wr_free_list_give(at.list, at.segment[i]);
    }
    for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++)
        at.kept[i] = 0;
}

static void setup_two(void)
{
    setup(2);
}

static void setup_three(void)
{
    setup(3);
}

static struct wr_segment *take(void)
{
    struct wr_segment *segment = wr_free_list_take(at.list);
    model_check(segment != NULL);
    wr_data_written(&segment->base_ticks, sizeof segment->base_ticks); /* this thread owns it now */
    at.kept[model_self()]++;
    return segment;
}

static void take_one(void)
{
    take();
}

static void take_and_give(void)
{
    struct wr_segment *segment = take();
    at.kept[model_self()]--;
    wr_free_list_give(at.list, segment);
}

static void take_and_give_twice(void)
{
    take_and_give();
    take_and_give();
}

/* Every segment that no thread kept is still in the list. */
static void check(void)
{
    uint32_t count = 0;
    while (wr_free_list_take(at.list))
        count++;
    for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++)
        count += at.kept[i];
    model_check(count == at.segments);
}

const struct lane_model free_models[] = {
    {.model = {.name = "free_list",
               .about = "one thread takes, another takes and gives back; two segments",
               .threads = 2,
               .setup = setup_two,
               .run = {take_one, take_and_give},
               .finish = check}},
    {.model = {.name = "free_list_twice",
               .about = "the same twice; three segments",
               .threads = 2,
               .setup = setup_three,
               .run = {take_one, take_and_give_twice},
               .finish = check}},
    {.model = {.name = "free_list_both",
               .about = "both threads take and give back; two segments",
               .threads = 2,
               .setup = setup_two,
               .run = {take_and_give, take_and_give},
               .finish = check}},
};

const size_t free_model_count = sizeof free_models / sizeof free_models[0];
