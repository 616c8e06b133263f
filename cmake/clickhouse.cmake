# SPDX-License-Identifier: Apache-2.0
# The tables of a history in ClickHouse are a file that is installed, and part of the program; its server is asked
# by libcurl, of which only the headers are needed here: it is loaded when it is first used.
set(clickhouse_source ${CMAKE_BINARY_DIR}/generated/clickhouse_tables.c)
add_custom_command(OUTPUT ${clickhouse_source}
  COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/share/clickhouse/tables.sql
    -DOUT=${clickhouse_source} -P ${CMAKE_SOURCE_DIR}/cmake/clickhouse_tables.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/share/clickhouse/tables.sql
    ${CMAKE_SOURCE_DIR}/cmake/clickhouse_tables.cmake VERBATIM)
pkg_check_modules(CURL QUIET libcurl)
if(CURL_FOUND)
  message(STATUS "ClickHouse: yes, by libcurl ${CURL_VERSION}")
  set(clickhouse_http ${BRICK_HISTORY_HTTP_SOURCES})
else()
  message(STATUS "ClickHouse: none (libcurl4-openssl-dev): histories are kept in SQLite only")
  set(clickhouse_http ${BRICK_HISTORY_HTTP_NONE_SOURCES})
endif()
