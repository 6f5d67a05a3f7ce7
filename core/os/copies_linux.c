#define _GNU_SOURCE
#include "os/copies.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <weir/version.h>
#include "base/compiler.h"
#include "base/error.h"
#include "os/os.h"

#define OWNER        "weir"
#define TYPE_VERSION 1

/* An ELF note, which the loader maps with each copy. Versions to come read it. */
struct copy_note {
    ElfW(Nhdr) head;
    char owner[8];    /* padded to four bytes */
    uint32_t version; /* WEIR_VERSION_NUMBER */
};

#if defined(__clang__) /* AddressSanitizer would pad it */
__attribute__((no_sanitize("address")))
#endif
__attribute__((used, section(".note.weir"), aligned(4))) static const struct copy_note own_note = {
    {sizeof OWNER, sizeof(uint32_t), TYPE_VERSION}, OWNER, WEIR_VERSION_NUMBER};

struct copies {
    uint32_t count;          /* found, up to this one */
    uint32_t version;        /* of the first */
    char first[48], own[48]; /* modules */
    bool has_own;
};

/* The note among those of a segment, which are padded to its alignment; NULL: there is none. */
static const struct copy_note *note_find(const char *at, size_t bytes, size_t alignment)
{
    while (bytes >= sizeof(struct copy_note)) {
        const struct copy_note *note = (const void *)at;
        const ElfW(Nhdr) *head = &note->head;
        if (head->n_type == TYPE_VERSION && head->n_namesz == sizeof OWNER &&
            head->n_descsz >= sizeof note->version && memcmp(note->owner, OWNER, sizeof OWNER) == 0)
            return note;
        size_t used = wr_round_up(sizeof *head + head->n_namesz, alignment);
        used = wr_round_up(used + head->n_descsz, alignment);
        if (used >= bytes)
            return NULL;
        at += used;
        bytes -= used;
    }
    return NULL;
}

/* A tool that rewrites modules may leave a segment of notes that is not mapped. */
static bool is_mapped(const struct dl_phdr_info *module, const ElfW(Phdr) * part)
{
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *load = &module->dlpi_phdr[i];
        if (load->p_type == PT_LOAD && load->p_flags & PF_R && part->p_vaddr >= load->p_vaddr &&
            part->p_vaddr + part->p_memsz <= load->p_vaddr + load->p_memsz)
            return true;
    }
    return false;
}

static void module_name(const struct dl_phdr_info *module, char *name, size_t capacity)
{
    const char *path = module->dlpi_name;
    snprintf(name, capacity, "%s", path && *path ? wr_os_name_in(path) : "the executable");
}

/* Not 0: this copy has been found, and later ones do not matter. */
WR_COLD static int module_look(struct dl_phdr_info *module, size_t size, void *context)
{
    struct copies *copies = context;
    (void)size;
    for (unsigned i = 0; i < module->dlpi_phnum && !copies->has_own; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type != PT_NOTE || !is_mapped(module, part))
            continue;
        const char *notes = (const char *)module->dlpi_addr + part->p_vaddr;
        const struct copy_note *note = note_find(notes, part->p_memsz, part->p_align == 8 ? 8 : 4);
        if (!note)
            continue;
        if (copies->count++ == 0) {
            module_name(module, copies->first, sizeof copies->first);
            copies->version = note->version;
        }
        copies->has_own = note == &own_note;
        if (copies->has_own)
            module_name(module, copies->own, sizeof copies->own);
    }
    return copies->has_own;
}

WR_COLD enum weir_result wr_copies_check(const char *what, struct weir_error *error)
{
    static struct wr_u32 is_first; /* ANY: once it is, it stays so, in forked children too */
    struct copies found = {0};
    if (wr_u32_load_relaxed(&is_first)) /* relaxed: publishes nothing */
        return WEIR_OK;
    dl_iterate_phdr(module_look, &found);
    if (!found.has_own || found.count == 1) { /* without notes, which a linker can drop, too */
        wr_u32_store_relaxed(&is_first, 1);   /* relaxed: all threads find the same */
        return WEIR_OK;
    }
    return wr_fail(error, WEIR_EXISTS,
                   "%s has its own copy of Weir, loaded after that in %s (%u.%u.%u): %s", found.own,
                   found.first, found.version / 1000000, found.version / 1000 % 1000,
                   found.version % 1000, what);
}
