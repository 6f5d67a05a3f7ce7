include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/weir-targets.cmake)

foreach(component ${weir_FIND_COMPONENTS}) # there are none
    if(weir_FIND_REQUIRED_${component})
        set(weir_FOUND FALSE)
        set(weir_NOT_FOUND_MESSAGE "weir has no component ${component}")
    endif()
endforeach()
