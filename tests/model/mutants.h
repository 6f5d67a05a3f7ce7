/* Which of the wrong variants that mutants.py has put into the sources is switched on. */
#ifndef MODEL_MUTANTS_H
#define MODEL_MUTANTS_H

enum model_mutant {
    MUTANT_none,
#define MUTANT(name, about, model, is_there) MUTANT_##name,
#include "mutants.inc"
#undef MUTANT
};

extern enum model_mutant model_mutant;

#define MUTANT_IS(name) (model_mutant == MUTANT_##name)

#endif
