# SPDX-License-Identifier: Apache-2.0
# What is injected into programs that use CUDA. Needs nothing of CUDA; where its headers are, what
# we wrote down of them is held against them at compile time. BRICK_CUDA_INCLUDE: where to look first.
set(BRICK_CUDA_INCLUDE "" CACHE STRING "directories with cuda.h and cupti.h")
set(cuda_hints ${BRICK_CUDA_INCLUDE})
foreach(home $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /opt/cuda)
  list(APPEND cuda_hints ${home}/include ${home}/extras/CUPTI/include)
endforeach()
find_path(CUDA_HEADERS cuda.h HINTS ${cuda_hints})
find_path(CUPTI_HEADERS cupti.h HINTS ${cuda_hints})
if(CUDA_HEADERS AND CUPTI_HEADERS)
  message(STATUS "CUDA headers: ${CUDA_HEADERS} ${CUPTI_HEADERS}")
  set(cuda_check attach/cuda/abi_check.c backends/cuda/abi_check.c)
else()
  message(STATUS "CUDA headers: none; CUDA is attached to all the same, by what is documented of it")
  set(cuda_check attach/cuda/abi_check_none.c)
endif()

brick_attacher(cuda ${BRICK_CUDA_SOURCES} ${cuda_check} NEEDS Threads::Threads)
if(CUDA_HEADERS AND CUPTI_HEADERS)
  set_source_files_properties(${cuda_check} PROPERTIES
    INCLUDE_DIRECTORIES "${CUDA_HEADERS};${CUPTI_HEADERS}")
endif()
