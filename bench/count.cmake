# Programs that run under callgrind: the counts are the same in each run (judge/count.py).
find_file(BENCH_CALLGRIND_H valgrind/callgrind.h)
if(NOT BENCH_CALLGRIND_H)
    message(STATUS "No valgrind/callgrind.h (Debian: valgrind): the programs that count instructions are not built")
    return()
endif()

# The header is included before the sources define _GNU_SOURCE, so define it here in the same way: empty.
target_compile_options(weir_counted PRIVATE -D_GNU_SOURCE= -include ${CMAKE_CURRENT_SOURCE_DIR}/count_fixed.h)
foreach(program emit drain)
    add_executable(weir-count-${program} count_${program}.c count.c count_clock.c kernel_context.c kernel_emit.c
        kernel_events.c kernel_loop.c kernel_plugin.c)
    target_compile_definitions(weir-count-${program} PRIVATE _GNU_SOURCE
        COUNT_COMPILER="${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
    # Without PIE, addresses in a profile are those that objdump prints.
    set_target_properties(weir-count-${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_link_options(weir-count-${program} PRIVATE -no-pie -Wl,--wrap=fopen)
    target_link_libraries(weir-count-${program} PRIVATE weir_build_flags)
endforeach()
target_link_libraries(weir-count-emit PRIVATE weir::weir Threads::Threads)
target_sources(weir-count-drain PRIVATE count_fixed.c)
target_sources(weir-count-emit PRIVATE kernel_floor.c)
foreach(function clock clock_gettime nanosleep syscall time)
    target_link_options(weir-count-drain PRIVATE -Wl,--wrap=${function})
endforeach()
target_link_libraries(weir-count-drain PRIVATE weir_counted weir_nettrace_reader)

# The README's program, as a user links it: what the library adds to a host at least.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
if(NOT readme MATCHES "```c\n(#include[^`]*weir_session_create[^`]*)```")
    message(FATAL_ERROR "README.md has no whole program")
endif()
file(CONFIGURE OUTPUT count_minimal.c CONTENT "${CMAKE_MATCH_1}" @ONLY)
add_executable(weir-count-minimal ${CMAKE_CURRENT_BINARY_DIR}/count_minimal.c)
target_link_libraries(weir-count-minimal PRIVATE weir::weir)
add_custom_target(weir-count DEPENDS weir-count-emit weir-count-drain weir-count-minimal weir_shared)

# The committed baselines are of optimized builds.
if(WEIR_BUILD_TESTS AND "codegen" IN_LIST WEIR_TEST_KINDS AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEIR_SANITIZE)
    add_test(NAME codegen_count COMMAND ${bench_python} -B -m bench.judge.cmd_count
        --skip-code --build ${CMAKE_BINARY_DIR} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(codegen_count PROPERTIES LABELS "codegen" SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
