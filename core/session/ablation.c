#include "session/ablation.h"

#include "session/session.h"

void wr_session_ablate(struct weir_session *session, uint32_t flags)
{
    wr_gate_ablate(&session->buffers.gate, flags);
}
