#define _GNU_SOURCE
#include "weir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#define EV(EVENT, P) EVENT(P, Bare, 1, 0, WEIR_LEVEL_INFO | WEIR_EVENT_STACK, 0x1) EVENT(P, Plain, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, N))
WEIR_PROVIDER(Rev, EV)
WEIR_PROVIDER_DEFINE(Rev, EV)
static int calls;
static int block;
static int32_t capture(void *c, uint64_t *a, int32_t max){ calls++; a[0]=1; a[1]=2; if(block) pause(); return 2; }
static pthread_key_t key;
static void destr(void *p){ struct weir_context *c = weir_context_swap(NULL); printf("A: chain in TSD destructor after cancellation in capture: %p (%s)\n",(void*)c, c?"DANGLING":"ok"); }
static void *thr(void *p){ pthread_setspecific(key,(void*)1); WEIR_EMIT(Rev, Bare); return 0; }
static sigjmp_buf env; static volatile long steps, target;
static void trap(int s, siginfo_t*i, void*u){ if(++steps==target) siglongjmp(env,1); }
static void tf(int on){ if(on) __asm__ volatile("pushfq; orq $0x100,(%%rsp); popfq":::"memory","cc"); else __asm__ volatile("pushfq; andq $~0x100,(%%rsp); popfq":::"memory","cc"); }
int main(void){
  pthread_key_create(&key, destr);
  struct weir_error e;
  if (weir_provider_register(&Rev, &e)) { printf("reg %s\n", e.text); }
  struct weir_stack_hook h = WEIR_STACK_HOOK_INIT; h.capture=capture; weir_stack_hook_set(&h);
  struct weir_session_config c = WEIR_SESSION_CONFIG_INIT; c.providers="Rev"; c.sink=(struct weir_sink)WEIR_SINK_FILE("/tmp/rev/x.nettrace"); c.block_signals=true;
  struct weir_session *s; 
  if (weir_session_create(&c,&s,&e)||weir_session_start(s,&e)) {printf("ses %s\n",e.text);return 1;}
  WEIR_EMIT(Rev, Bare); printf("calls %d\n", calls);
  /* B */
  struct sigaction sa={0}; sa.sa_sigaction=trap; sa.sa_flags=SA_SIGINFO; sigaction(SIGTRAP,&sa,0);
  long bad=0, first=0,last=0, total;
  for (target=1;;target++){ steps=0;
    if(sigsetjmp(env,1)==0){ tf(1); WEIR_EMIT(Rev, Bare); tf(0); total=steps; break; }
    weir_thread_reset();
    struct weir_context *d=weir_context_swap(NULL);
    if(d){bad++; if(!first)first=target; last=target;}
    if(target>20000) break;
  }
  printf("B: single steps %ld; after jump + weir_thread_reset the chain dangles at %ld of them (first %ld last %ld)\n", total,bad,first,last);
  /* A */
  block=1; pthread_t t; pthread_create(&t,0,thr,0); usleep(100000); pthread_cancel(t); void*r; pthread_join(t,&r); printf("cancelled %d\n", r==PTHREAD_CANCELED); block=0;
  weir_session_stop(s,&e);
  return 0; }
