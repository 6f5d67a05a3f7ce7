#include "lane/loss.h"

#include <stddef.h>
#include <weir/session.h>

const char *weir_loss_name(enum weir_loss cause)
{
#define NAME(name) [WEIR_LOSS_##name] = #name,
    static const char *const names[] = {WR_LOSS_LIST(NAME, NAME)};
#undef NAME
    _Static_assert(sizeof names / sizeof names[0] == WEIR_LOSS_COUNT, "each cause has a name");
    return (unsigned)cause < WEIR_LOSS_COUNT ? names[cause] : NULL;
}
