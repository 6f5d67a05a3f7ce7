/* The models of the lane's edges, for the programs that run them and that weaken them. */
#ifndef MODEL_LANE_MODELS_H
#define MODEL_LANE_MODELS_H

#include "explorer.h"

struct lane_model {
    struct model model;
    bool must_fail; /* a canary: a protocol that is known to be wrong */
    bool is_deep;   /* larger than the sweep needs */
};

extern const struct lane_model lane_models[];
extern const size_t lane_model_count;

#endif
