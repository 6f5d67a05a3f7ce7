#include "session/abouts.h"

#include <string.h>
#include "base/compiler.h"
#include "os/os.h"

#define PLACES_FIRST 256u

static struct wr_about *place_of(const struct wr_abouts *abouts, uint64_t thread_id)
{
    uint32_t at = (uint32_t)((thread_id * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
    for (;; at++) {
        struct wr_about *place = &abouts->places[at & (abouts->place_count - 1)];
        if (place->thread_id == thread_id || place->thread_id == 0)
            return place;
    }
}

static bool grow(struct wr_abouts *abouts)
{
    struct wr_abouts larger = {.place_count =
                                   abouts->place_count ? 2 * abouts->place_count : PLACES_FIRST,
                               .used = abouts->used};
    larger.places = wr_os_pages_map(larger.place_count * sizeof *larger.places);
    if (!larger.places)
        return false;
    for (uint32_t i = 0; i < abouts->place_count; i++)
        if (abouts->places[i].thread_id)
            *place_of(&larger, abouts->places[i].thread_id) = abouts->places[i];
    wr_abouts_forget(abouts);
    *abouts = larger;
    return true;
}

WR_COLD struct wr_about *wr_abouts_find(struct wr_abouts *abouts, uint64_t thread_id)
{
    struct wr_about *place = abouts->places ? place_of(abouts, thread_id) : NULL;
    if (place && place->thread_id)
        return place;
    if (abouts->used >= abouts->place_count / 2 && !grow(abouts))
        return NULL;
    place = place_of(abouts, thread_id);
    *place = (struct wr_about){thread_id, 0};
    abouts->used++;
    return place;
}

WR_COLD void wr_abouts_forget(struct wr_abouts *abouts)
{
    wr_os_pages_unmap(abouts->places, abouts->place_count * sizeof *abouts->places);
    memset(abouts, 0, sizeof *abouts);
}
