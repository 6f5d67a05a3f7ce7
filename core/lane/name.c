/* What a thread is called. */
#include "lane/name.h"

#include <string.h>
#include "base/utf8.h"
#include "lane/thread.h"
#include "os/os.h"

static void own_text(const struct wr_thread *thread, union wr_name_text *text)
{
    uint32_t turn;
    (void)wr_name_read(&thread->name, &turn, text); /* only this thread changes it */
}

static enum wr_name_origin origin_of(const struct wr_thread *thread)
{
    union wr_name_text text;
    own_text(thread, &text);
    return wr_name_origin_of(&text);
}

static void put(struct wr_thread *thread, union wr_name_text *text, enum wr_name_origin origin)
{
    union wr_name_text before;
    own_text(thread, &before);
    text->bytes[WR_THREAD_NAME_BYTES - 1] = (char)origin;
    if (memcmp(&before, text, sizeof before) != 0)
        wr_name_write(&thread->name, text);
}

static void put_system(struct wr_thread *thread, enum wr_name_origin origin)
{
    union wr_name_text text = {{0}};
    wr_os_thread_name(text.bytes);
    put(thread, &text, origin);
}

WR_COLD void wr_thread_name_ask(struct wr_thread *thread)
{
    if (origin_of(thread) != WR_NAME_HOST)
        put_system(thread, WR_NAME_SYSTEM);
}

WR_COLD void wr_thread_name_give(struct wr_thread *thread, const char *text)
{
    union wr_name_text own = {{0}};
    uint64_t signals = wr_os_signals_block();
    if (text && *text) {
        memcpy(own.bytes, text, wr_utf8_fitting(text, WR_THREAD_NAME_BYTES - 1));
        put(thread, &own, WR_NAME_HOST);
    } else {
        put_system(thread, WR_NAME_SYSTEM);
    }
    wr_os_signals_restore(signals);
}

WR_COLD void wr_thread_name_end(struct wr_thread *thread)
{
    if (origin_of(thread) != WR_NAME_SYSTEM)
        return;
    uint64_t signals = wr_os_signals_block();
    put_system(thread, WR_NAME_LAST);
    wr_os_signals_restore(signals);
}

WR_COLD void wr_thread_name_forget(struct wr_thread *thread)
{
    union wr_name_text none = {{0}};
    put(thread, &none, WR_NAME_NONE);
}
