# SPDX-License-Identifier: Apache-2.0
# The page of `brick report --html` and `brick serve`: html/ bundled by modules from npm, compiled
# into the program. Without npm, or when it cannot fetch them, all else is built and the page says
# so. Sets html_source: the file that holds the page, or says that there is none.
option(BRICK_HTML "bundle the HTML page (needs nodejs and npm)" ON)
find_program(BRICK_NODE node)
find_program(BRICK_NPM npm)
set(html_source ${CMAKE_SOURCE_DIR}/html/page_template_none.c)
set(html_room ${CMAKE_BINARY_DIR}/html)
set(html_reason "")
if(NOT BRICK_HTML)
  set(html_reason "switched off (BRICK_HTML)")
elseif(NOT BRICK_NODE OR NOT BRICK_NPM)
  set(html_reason "nodejs and npm are not there")
else()
  # What is locked is fetched once per build directory; npm checks it against the lock's hashes.
  file(SHA256 ${CMAKE_SOURCE_DIR}/html/package-lock.json html_lock)
  set(html_stamp "")
  if(EXISTS ${html_room}/.complete)
    file(READ ${html_room}/.complete html_stamp)
  endif()
  if(NOT html_stamp STREQUAL html_lock)
    message(STATUS "HTML page: fetching the modules that html/package-lock.json names")
    file(COPY ${CMAKE_SOURCE_DIR}/html/package.json ${CMAKE_SOURCE_DIR}/html/package-lock.json
      DESTINATION ${html_room})
    execute_process(COMMAND ${BRICK_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
        --loglevel=error --fetch-retries=1 --fetch-timeout=20000
      WORKING_DIRECTORY ${html_room} RESULT_VARIABLE html_failed OUTPUT_QUIET
      ERROR_VARIABLE html_log TIMEOUT 180)
    if(html_failed)
      string(REGEX REPLACE "\n.*" "" html_reason "npm: ${html_log}")
    else()
      file(WRITE ${html_room}/.complete ${html_lock})
    endif()
  endif()
endif()

if(html_reason)
  message(WARNING "HTML page: none (${html_reason}); `brick report --html` and `brick serve` "
    "will say so")
else()
  set(html_source ${CMAKE_BINARY_DIR}/generated/page_template.c)
  file(GLOB html_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/html/src/*)
  add_custom_command(OUTPUT ${html_room}/page.html
    COMMAND ${BRICK_NODE} ${CMAKE_SOURCE_DIR}/html/bundle.mjs ${html_room} ${html_room}/page.html
    DEPENDS ${html_parts} ${CMAKE_SOURCE_DIR}/html/bundle.mjs
      ${CMAKE_SOURCE_DIR}/html/package-lock.json
    COMMENT "Bundling the HTML page" VERBATIM)
  add_custom_command(OUTPUT ${html_source}
    COMMAND ${CMAKE_COMMAND} -D FROM=${html_room}/page.html -D TO=${html_source}
      -D NAME=page_template -D HEADER=html/page_template.h
      -P ${CMAKE_SOURCE_DIR}/attach/ggml/embed_text.cmake
    DEPENDS ${html_room}/page.html ${CMAKE_SOURCE_DIR}/attach/ggml/embed_text.cmake VERBATIM)
  message(STATUS "HTML page: yes")
endif()
