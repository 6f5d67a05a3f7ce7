/*
 * Cooperative threads. On x86-64 a switch takes a dozen instructions; elsewhere it uses ucontext,
 * with a system call each. A context that was left in the middle of an execution is simply prepared
 * again: models keep nothing on their stacks that would have to be undone.
 */
#include "engine.h"

#define STACK_BYTES (128u * 1024u)
#define SEARCH      MODEL_THREADS_MAX

static _Alignas(64) unsigned char stacks[MODEL_THREADS_MAX][STACK_BYTES];

#if defined(__x86_64__)

void model_switch_stack(void **save, void *load);

__asm__(".text\n"
        ".globl model_switch_stack\n"
        ".hidden model_switch_stack\n"
        ".type model_switch_stack,@function\n"
        "model_switch_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size model_switch_stack,.-model_switch_stack\n");

static void *saved[MODEL_THREADS_MAX + 1];

void switch_prepare(uint32_t thread, void (*entry)(void))
{
    /* Six saved registers, the return address, and one word that aligns the stack as after a
     * call. */
    uint64_t *top = (uint64_t *)(void *)(stacks[thread] + STACK_BYTES);
    *--top = 0;
    *--top = (uint64_t)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--top = 0;
    saved[thread] = top;
}

static void switch_between(uint32_t from, uint32_t to)
{
    model_switch_stack(&saved[from], saved[to]);
}

#else

#include <ucontext.h>

static ucontext_t saved[MODEL_THREADS_MAX + 1];

void switch_prepare(uint32_t thread, void (*entry)(void))
{
    getcontext(&saved[thread]);
    saved[thread].uc_stack.ss_sp = stacks[thread];
    saved[thread].uc_stack.ss_size = STACK_BYTES;
    saved[thread].uc_link = NULL;
    makecontext(&saved[thread], entry, 0);
}

static void switch_between(uint32_t from, uint32_t to)
{
    swapcontext(&saved[from], &saved[to]);
}

#endif

void (*model_on_switch)(uint32_t from, uint32_t to);

static void change(uint32_t from, uint32_t to)
{
    if (model_on_switch)
        model_on_switch(from, to);
    switch_between(from, to);
}

void switch_to_thread(uint32_t from, uint32_t to)
{
    change(from, to);
}

void switch_to_search(uint32_t from)
{
    change(from, SEARCH);
}

void switch_from_search(uint32_t to)
{
    change(SEARCH, to);
}
