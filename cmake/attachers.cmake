# SPDX-License-Identifier: Apache-2.0
# What is injected into programs: each attach/NAME brings an attacher.cmake (docs/ATTACHERS.md).

# brick_attacher(NAME [UNLOADABLE] SOURCES... [NEEDS TARGETS...]): lib/libbrick-NAME.so, which exports
# what attach/NAME/NAME.map says. It stays in the program once it is there, unless UNLOADABLE.
function(brick_attacher name)
  cmake_parse_arguments(attacher "UNLOADABLE" "" "NEEDS" ${ARGN})
  set(map ${CMAKE_CURRENT_LIST_DIR}/${name}.map)
  add_library(brick-${name} SHARED ${attacher_UNPARSED_ARGUMENTS})
  target_link_libraries(brick-${name} PRIVATE brick ${attacher_NEEDS} brick-base ${CMAKE_DL_LIBS})
  target_link_options(brick-${name} PRIVATE -Wl,--version-script=${map} ${no_undefined})
  if(NOT attacher_UNLOADABLE)
    target_link_options(brick-${name} PRIVATE -Wl,-z,nodelete)
  endif()
  set_property(TARGET brick-${name} APPEND PROPERTY LINK_DEPENDS ${map})
  set_target_properties(brick-${name} PROPERTIES BUILD_RPATH "\$ORIGIN"
    INSTALL_RPATH "\$ORIGIN/..")
  install(TARGETS brick-${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/brick)
endfunction()

file(GLOB attachers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/attach/*/attacher.cmake)
foreach(attacher ${attachers})
  include(${attacher})
endforeach()
