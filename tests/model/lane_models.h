/* The models of the lane's edges, for the programs that run them or weaken their orders. */
#ifndef MODEL_LANE_MODELS_H
#define MODEL_LANE_MODELS_H

#include "explorer.h"

struct lane_model {
    struct model model;
    bool must_fail; /* a canary: a protocol that is known to be wrong */
    bool is_deep;   /* takes long */
    bool is_long;   /* takes longer than the test command has time for */
    bool is_large;  /* larger than the sweep needs */
    /* Not 0: explores all executions with at most this many switches away from a runnable
     * thread. */
    uint32_t preemptions;
};

extern const struct lane_model lane_models[], gate_models[], session_models[], look_models[],
    free_models[], callback_models[];
extern const size_t lane_model_count, gate_model_count, session_model_count, look_model_count,
    free_model_count, callback_model_count;

/* All models by number; NULL after the last. */
static inline const struct lane_model *model_at(size_t number)
{
    if (number < lane_model_count)
        return &lane_models[number];
    number -= lane_model_count;
    if (number < gate_model_count)
        return &gate_models[number];
    number -= gate_model_count;
    if (number < look_model_count)
        return &look_models[number];
    number -= look_model_count;
    if (number < session_model_count)
        return &session_models[number];
    number -= session_model_count;
    if (number < free_model_count)
        return &free_models[number];
    number -= free_model_count;
    return number < callback_model_count ? &callback_models[number] : NULL;
}

#endif
