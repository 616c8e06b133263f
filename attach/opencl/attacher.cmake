# SPDX-License-Identifier: Apache-2.0
# What is injected into programs that use OpenCL: its headers are enough, the library is the program's.
if(NOT OPENCL_HEADERS)
  return()
endif()

brick_attacher(opencl ${BRICK_OPENCL_SOURCES} ${BRICK_ATTACH_SOURCES})
