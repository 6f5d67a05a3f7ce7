# Writes OUTPUT, a header with the commit of SOURCE. Runs at each build, because the commit can change without any
# compiled file changing. Nothing is recompiled unless the commit changed.
set(commit "unknown") # outside a checkout
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
    execute_process(COMMAND ${GIT_PROGRAM} rev-parse --short=12 HEAD
        WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        RESULT_VARIABLE failure)
    execute_process(COMMAND ${GIT_PROGRAM} status --porcelain --untracked-files=no
        WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT failure)
        set(commit "${head}")
        if(changes)
            string(APPEND commit "-dirty")
        endif()
    endif()
endif()
set(text "#define BENCH_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
    file(WRITE ${OUTPUT} "${text}")
endif()
