#include "providers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEVEL_MAX 5u

bool wt_ipc_keywords_parse(const char *text, uint64_t *keywords)
{
    const char *digits = strncasecmp(text, "0x", 2) == 0 ? text + 2 : text;
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    if (count == 0 || digits[count])
        return false;
    errno = 0;
    *keywords = strtoull(digits, NULL, 16);
    return errno == 0;
}

static bool parse_level(const char *text, uint32_t *level)
{
    static const char *const names[] = {"logalways", "critical",      "error",
                                        "warning",   "informational", "verbose"};
    if (text[0] >= '0' && text[0] <= '0' + (int)LEVEL_MAX && !text[1]) {
        *level = (uint32_t)(text[0] - '0');
        return true;
    }
    for (uint32_t i = 0; i <= LEVEL_MAX; i++)
        if (strcasecmp(text, names[i]) == 0) {
            *level = i;
            return true;
        }
    return false;
}

/* Ends the field at its colon and returns the next one; NULL if there is none. */
static char *next_field(char *field)
{
    char *colon = strchr(field, ':');
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

/* Removes the double quotes around a whole text, in which each other one is written twice. In
 * "a;b"="c" they belong to the parts, and stay. */
static char *unquoted(char *text)
{
    size_t size = strlen(text), kept = 0;
    if (size < 2 || text[0] != '"' || text[size - 1] != '"')
        return text;
    for (size_t i = 1; i < size - 1; i++)
        if (text[i] == '"' && (text[++i] != '"' || i == size - 1))
            return text;
    for (size_t i = 1; i < size - 1; i++) {
        i += text[i] == '"';
        text[kept++] = text[i];
    }
    text[kept] = '\0';
    return text;
}

static bool parse_entry(struct wt_ipc_provider *provider, char *entry, struct wt_ipc_error *error)
{
    char *keywords = next_field(entry);
    char *level = keywords ? next_field(keywords) : NULL;
    char *arguments = level ? next_field(level) : NULL;
    provider->name = entry;
    provider->keywords = UINT64_MAX;
    provider->level = LEVEL_MAX;
    provider->arguments = arguments ? unquoted(arguments) : "";
    if (!*entry)
        return wt_ipc_fail(error, WT_IPC_ARGUMENT, "a provider of the list has no name");
    if (keywords && *keywords && !wt_ipc_keywords_parse(keywords, &provider->keywords))
        return wt_ipc_fail(error, WT_IPC_ARGUMENT,
                           "%.100s: the keywords are a hexadecimal number of up to 64 bits, not "
                           "\"%.40s\"",
                           entry, keywords);
    if (level && *level && !parse_level(level, &provider->level))
        return wt_ipc_fail(error, WT_IPC_ARGUMENT,
                           "%.100s: the level is 0 to 5 or a name such as Informational, not "
                           "\"%.40s\"",
                           entry, level);
    return true;
}

/* Ends the entry at its comma and returns the next one; NULL if there is none. */
static char *next_entry(char *entry)
{
    bool is_quoted = false;
    for (char *at = entry; *at; at++) {
        is_quoted ^= *at == '"';
        if (*at == ',' && !is_quoted) {
            *at = '\0';
            return at + 1;
        }
    }
    return NULL;
}

static bool parse(struct wt_ipc_providers *list, struct wt_ipc_error *error)
{
    for (char *next, *entry = list->text; entry; entry = next) {
        next = next_entry(entry);
        if (list->count == WT_IPC_PROVIDERS_MAX)
            return wt_ipc_fail(error, WT_IPC_ARGUMENT, "there are more than %u providers",
                               WT_IPC_PROVIDERS_MAX);
        if (!parse_entry(&list->items[list->count], entry, error))
            return false;
        list->count++;
    }
    return true;
}

bool wt_ipc_providers_parse(struct wt_ipc_providers *list, const char *text,
                            struct wt_ipc_error *error)
{
    list->count = 0;
    list->text = strdup(text);
    list->items = calloc(WT_IPC_PROVIDERS_MAX, sizeof(*list->items));
    bool is_done = list->text && list->items ? parse(list, error)
                                             : wt_ipc_fail(error, WT_IPC_SYSTEM, "out of memory");
    if (!is_done)
        wt_ipc_providers_fini(list);
    return is_done;
}

void wt_ipc_providers_fini(struct wt_ipc_providers *list)
{
    free(list->items);
    free(list->text);
    memset(list, 0, sizeof(*list));
}
