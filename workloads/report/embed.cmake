# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C++ source that holds page.html with page.css and page.js in it.
#   cmake -DFOLDER=... -DOUT=... -P embed.cmake
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
file(READ ${FOLDER}/page.js script)
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" ")PAGE\"" closing)
if(NOT closing EQUAL -1)
  message(FATAL_ERROR "${FOLDER}/page.* must not hold the characters that end a raw string")
endif()
file(WRITE ${OUT} "// Made from ${FOLDER}/page.* by embed.cmake.\n#include \"workloads/report/page.h\"\n\n"
  "namespace mezz {\nconst std::string_view kReportPage = R\"PAGE(${page})PAGE\";\n}  // namespace mezz\n")
