# Writes a manual page for the program weir and for each of its commands: what --help prints, as it is laid out there.
# cmake -DWEIR=PROGRAM -DVERSION=0.5.0 -DOUTPUT=FOLDER -P man.cmake

function(roff variable text)
    string(REPLACE "\\" "\\e" text "${text}")
    string(REPLACE "-" "\\-" text "${text}")
    string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# Of a help text: the lines with the usage, and the others.
function(page name summary help also)
    string(FIND "${help}" "\n\n" end)
    string(SUBSTRING "${help}" 0 ${end} usage)
    string(SUBSTRING "${help}" ${end} -1 text)
    string(REGEX REPLACE "(^|\n)(usage: |       )" "\\1" usage "${usage}")
    string(STRIP "${text}" text)
    foreach(part name summary usage text)
        roff(${part}_roff "${${part}}")
    endforeach()
    file(WRITE ${OUTPUT}/${name}.1 ".TH \"${name_roff}\" 1 \"\" \"Weir ${VERSION}\"\n"
        ".SH NAME\n${name_roff} \\- ${summary_roff}\n"
        ".SH SYNOPSIS\n.nf\n${usage_roff}\n.fi\n"
        ".SH DESCRIPTION\n.in 0\n.nf\n${text_roff}\n.fi\n"
        ".SH SEE ALSO\n${also}\n")
endfunction()

function(help variable)
    execute_process(COMMAND ${WEIR} ${ARGN} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${OUTPUT})
help(main)
string(REGEX MATCHALL "\n  [a-z]+ +[^\n]+" rows "${main}")
foreach(row ${rows})
    string(REGEX MATCH "^\n  ([a-z]+) +(.*)$" row "${row}")
    set(command ${CMAKE_MATCH_1})
    set(summary "${CMAKE_MATCH_2}")
    if(NOT command STREQUAL "help")
        help(text ${command})
        page(weir-${command} "${summary}" "${text}" ".BR weir (1)")
        list(APPEND pages ".BR weir\\-${command} (1)")
    endif()
endforeach()
list(JOIN pages ",\n" pages)
page(weir "read and collect traces in the format nettrace" "${main}" "${pages}")
