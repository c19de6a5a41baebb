# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C++ source that defines NAME (such as mezz::kReportPage, declared in HEADER): this folder's page.html
# for PROGRAM, with common.css and common.js in it, and FOLDER's page.css, where there is one, and SCRIPTS.
#   cmake -DFOLDER=... -DSCRIPTS=... -DPROGRAM=... -DHEADER=... -DNAME=... -DOUT=... -P embed.cmake
file(READ ${CMAKE_CURRENT_LIST_DIR}/page.html page)
file(READ ${CMAKE_CURRENT_LIST_DIR}/common.css style)
file(READ ${CMAKE_CURRENT_LIST_DIR}/common.js script)
if(EXISTS ${FOLDER}/page.css)
  file(READ ${FOLDER}/page.css own_style)
  string(APPEND style "${own_style}")
endif()
foreach(name IN LISTS SCRIPTS)
  file(READ ${FOLDER}/${name} own_script)
  string(APPEND script "${own_script}")
endforeach()
string(REPLACE "@PROGRAM@" "${PROGRAM}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" ")PAGE\"" closing)
if(NOT closing EQUAL -1)
  message(FATAL_ERROR "page.html and what is in ${FOLDER} must not hold the characters that end a raw string")
endif()
file(WRITE ${OUT} "// Made from ${FOLDER} by embed.cmake.\n#include \"${HEADER}\"\n\n"
  "const std::string_view ${NAME} = R\"PAGE(${page})PAGE\";\n")
