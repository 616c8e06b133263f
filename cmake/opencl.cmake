# SPDX-License-Identifier: Apache-2.0
# What is injected into programs that use OpenCL: its headers are enough, the library is the program's.
if(NOT OPENCL_HEADERS)
  return()
endif()

add_library(brick-opencl SHARED ${BRICK_OPENCL_SOURCES} ${BRICK_ATTACH_SOURCES})
target_link_libraries(brick-opencl PRIVATE brick brick-base ${CMAKE_DL_LIBS})
target_link_options(brick-opencl PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/attach/opencl/opencl.map -Wl,-z,nodelete
  ${no_undefined})
set_property(TARGET brick-opencl APPEND PROPERTY LINK_DEPENDS
  ${CMAKE_SOURCE_DIR}/attach/opencl/opencl.map)
set_target_properties(brick-opencl PROPERTIES BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN"
  BUILD_WITH_INSTALL_RPATH ON)
install(TARGETS brick-opencl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
