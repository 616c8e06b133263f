# SPDX-License-Identifier: Apache-2.0
# The rooms above the library, each a target that names the rooms it stands on. tests/layers holds
# the #include lines to the same arrows (docs/ARCHITECTURE.md shows them).

# brick_room(NAME SOURCES... NEEDS TARGETS...)
function(brick_room name)
  cmake_parse_arguments(room "" "" "NEEDS" ${ARGN})
  add_library(brick-${name} STATIC ${room_UNPARSED_ARGUMENTS})
  target_link_libraries(brick-${name} PUBLIC ${room_NEEDS})
endfunction()

include(cmake/html.cmake)
include(cmake/terminal.cmake)
include(cmake/clickhouse.cmake)

brick_room(rules ${BRICK_RULES_SOURCES} NEEDS brick-base)
brick_room(trace ${BRICK_TRACE_SOURCES} NEEDS brick-static PkgConfig::LIBDEFLATE m)
brick_room(inject ${BRICK_INJECT_SOURCES} NEEDS brick-static)
brick_room(record ${BRICK_RECORD_SOURCES} NEEDS brick-static brick-inject)
brick_room(live ${BRICK_LIVE_SOURCES} NEEDS brick-record brick-trace)
brick_room(machine ${BRICK_MACHINE_SOURCES} NEEDS brick-static PkgConfig::JANSSON m)
if(VULKAN_HEADERS AND GLSLANG)
  set(shader ${CMAKE_BINARY_DIR}/generated/device_vulkan_words.h)
  add_custom_command(OUTPUT ${shader}
    COMMAND ${GLSLANG} --quiet -V --vn device_vulkan_words -o ${shader}
      ${CMAKE_SOURCE_DIR}/machine/device_vulkan.comp
    DEPENDS ${CMAKE_SOURCE_DIR}/machine/device_vulkan.comp VERBATIM)
  target_sources(brick-machine PRIVATE ${shader})
  target_include_directories(brick-machine PRIVATE ${CMAKE_BINARY_DIR}/generated)
endif()
brick_room(runner ${BRICK_RUNNER_SOURCES} NEEDS brick-base m)
brick_room(history ${BRICK_HISTORY_SOURCES} ${clickhouse_source} ${clickhouse_http}
  NEEDS brick-base PkgConfig::SQLITE3 PkgConfig::JANSSON ${CMAKE_DL_LIBS} m)
brick_room(analysis ${BRICK_ANALYSIS_SOURCES}
  NEEDS brick-trace brick-machine brick-history brick-graph-static m)
brick_room(view ${BRICK_VIEW_SOURCES} NEEDS brick-analysis brick-inject PkgConfig::JANSSON m)
brick_room(tui ${BRICK_TUI_SOURCES} ${terminal_source}
  NEEDS brick-view brick-live ${terminal_library})
brick_room(explain ${BRICK_EXPLAIN_SOURCES} NEEDS brick-view)
brick_room(html ${BRICK_HTML_SOURCES} ${html_source} NEEDS brick-view)
brick_room(serve ${BRICK_SERVE_SOURCES} NEEDS brick-html brick-live)
include(cmake/serve.cmake)

# All that answers stand on, for tests and benches that look inside.
add_library(brick-tools INTERFACE)
target_link_libraries(brick-tools INTERFACE brick-live brick-rules brick-analysis brick-runner)
