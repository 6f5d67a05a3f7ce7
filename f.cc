#include "weir.h"
#include <cstdio>
#include <stdexcept>
#define EV(EVENT, P) EVENT(P, Plain, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, N))
WEIR_PROVIDER(Rev, EV)
WEIR_PROVIDER_DEFINE(Rev, EV)
static uint64_t bad(){ throw std::runtime_error("x"); }
static void go(){ uint64_t st[1]={1}; struct weir_context c = WEIR_CONTEXT_INIT; c.thread_id=7; c.stack=st; c.stack_count=1; WEIR_EMIT_WITH(&c, Rev, Plain, bad()); }
int main(){ weir_error e; weir_provider_register(&Rev,&e);
  weir_session_config c = WEIR_SESSION_CONFIG_INIT; c.providers="Rev"; c.sink=WEIR_SINK_FILE("/tmp/rev/y.nettrace"); weir_session*s; if(weir_session_create(&c,&s,&e)||weir_session_start(s,&e)){printf("%s\n",e.text);return 1;}
  try{go();}catch(std::exception&){} 
  weir_thread_reset();
  printf("F: chain after throwing argument: %p\n",(void*)weir_context_swap(nullptr)); weir_session_stop(s,&e);}
