# SPDX-License-Identifier: Apache-2.0
# The static libraries as they are installed: one object each, in which nothing is global but what
# the shared library exports, so that no name of ours meets one of a program's.

# brick_archive(NAME MAP TARGETS...): static/libNAME.a of these targets' objects
function(brick_archive name map)
  set(archive ${CMAKE_BINARY_DIR}/static/lib${name}.a)
  set(object ${CMAKE_BINARY_DIR}/static/${name}.o)
  set(exports ${CMAKE_BINARY_DIR}/static/${name}.exports)
  file(STRINGS ${map} names REGEX "^\t[a-z_0-9]+;")
  list(TRANSFORM names REPLACE "\t([a-z_0-9]+);.*" "\\1")
  list(JOIN names "\n" names)
  file(CONFIGURE OUTPUT ${exports} CONTENT "${names}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${map})
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${object} ${objects}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${exports} --strip-debug -R .comment ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} rcs ${archive} ${object}
    DEPENDS ${ARGN} ${objects} ${exports} COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}-archive ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endfunction()

if(NOT BRICK_SANITIZE) # what sanitizers add must stay global
  brick_archive(brick ${CMAKE_SOURCE_DIR}/src/lib/brick.map brick-core brick-base)
  brick_archive(brick-graph ${CMAKE_SOURCE_DIR}/src/lib/graph/graph.map brick-graph-objects brick-base)
endif()
