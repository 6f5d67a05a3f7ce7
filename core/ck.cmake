# ck, from its Debian package or any other: pkg-config finds it. Hosts need none: the libraries contain copies of the objects
# that they use, renamed (base/ck.h). Copies remain objects, so that the linker drops what a host does not use.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CK REQUIRED IMPORTED_TARGET ck>=0.7.1)
find_path(CK_INCLUDE_DIR NAMES ck_md.h HINTS ${CK_INCLUDE_DIRS} REQUIRED)
find_library(CK_STATIC_LIBRARY NAMES libck.a HINTS ${CK_LIBDIR} REQUIRED)

# A cross compiler finds the ck of the machine that it runs on. ck_md.h says what ck was configured for.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${CK_INCLUDE_DIR})
check_c_source_compiles("#include <ck_md.h>
#if defined(CK_MD_TSO) && !defined(__x86_64__)
#error
#endif
int main(void) { return 0; }" WEIR_CK_FITS_THE_PROCESSOR)
unset(CMAKE_REQUIRED_INCLUDES)
set(CMAKE_REQUIRED_LIBRARIES ${CK_STATIC_LIBRARY})
check_c_source_compiles("void ck_hs_destroy(void *); int main(void) { ck_hs_destroy((void *)0); return 0; }" WEIR_CK_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
set(ck_wrong "")
if(NOT WEIR_CK_FITS_THE_PROCESSOR)
    set(ck_wrong "${CK_INCLUDE_DIR}/ck_md.h is configured for x86 (CK_MD_TSO): on ${CMAKE_SYSTEM_PROCESSOR} ck's queues would lack their barriers.")
elseif(NOT WEIR_CK_LINKS)
    set(ck_wrong "${CK_STATIC_LIBRARY} is not for ${CMAKE_SYSTEM_PROCESSOR}.")
endif()
if(ck_wrong)
    unset(WEIR_CK_FITS_THE_PROCESSOR CACHE)
    unset(WEIR_CK_LINKS CACHE)
    message(FATAL_ERROR "${ck_wrong} Take the headers and libck.a from ck's package for that processor.")
endif()

# Its headers by themselves: a compiler for another C library must not find this one's beside them.
set(ck_folder ${CMAKE_CURRENT_BINARY_DIR}/ck)
file(GLOB ck_headers ${CK_INCLUDE_DIR}/ck_*.h)
file(COPY ${ck_headers} ${CK_INCLUDE_DIR}/gcc ${CK_INCLUDE_DIR}/spinlock DESTINATION ${ck_folder}/include)

set(ck_members ck_ec.o ck_hs.o)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS base/ck.h)
file(STRINGS base/ck.h ck_renamed REGEX "^#define ck_[^ ]+ +wr_ck_")
set(ck_rename "")
foreach(line ${ck_renamed})
    separate_arguments(words UNIX_COMMAND "${line}")
    list(GET words 1 from)
    list(GET words 2 to)
    # LLVM's objcopy compares the old name, binutils' the new one.
    list(APPEND ck_rename --redefine-sym=${from}=${to} --keep-global-symbol=${from} --keep-global-symbol=${to})
endforeach()
set(ck_objects "")
foreach(member ${ck_members})
    add_custom_command(OUTPUT ${ck_folder}/wr_${member}
        COMMAND ${CMAKE_AR} x ${CK_STATIC_LIBRARY} ${member}
        COMMAND ${CMAKE_OBJCOPY} ${ck_rename} ${member} wr_${member}
        DEPENDS ${CK_STATIC_LIBRARY} base/ck.h WORKING_DIRECTORY ${ck_folder} VERBATIM)
    list(APPEND ck_objects ${ck_folder}/wr_${member})
endforeach()

# For what is linked in this build; libweir.a has the objects themselves.
add_library(weir_ck STATIC ${ck_objects})
set_target_properties(weir_ck PROPERTIES LINKER_LANGUAGE C)
target_include_directories(weir_ck SYSTEM INTERFACE ${ck_folder}/include)
