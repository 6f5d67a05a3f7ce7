# Writes OUTPUT, a header that says which commit of SOURCE is built; at each build, because a commit changes
# without any file that is compiled. Nothing is compiled again unless it did.
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
