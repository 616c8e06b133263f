# SPDX-License-Identifier: Apache-2.0
# The one list of sources, by the room of the house that they live in (docs/ARCHITECTURE.md).

# DEVELOPMENT: globbed while the rooms fill; becomes explicit before release.
file(GLOB BRICK_LIB_SOURCES CONFIGURE_DEPENDS lib/*.c lib/sys/*.c record/drain*.c record/writer*.c
  record/sink*.c trace/writer*.c trace/pb_write*.c trace/deflate*.c)
file(GLOB BRICK_GGML_SOURCES CONFIGURE_DEPENDS attach/*.c attach/ggml/*.c)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(REMOVE_ITEM BRICK_GGML_SOURCES ${CMAKE_SOURCE_DIR}/attach/ggml/hooks_x86_64.c)
endif()
# What tests of the interposer are built with: the parts that need no engine.
set(BRICK_GGML_PURE_SOURCES ${CMAKE_SOURCE_DIR}/attach/ggml/work.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/layout.c)
file(GLOB BRICK_TOOLS_SOURCES CONFIGURE_DEPENDS trace/*.c analysis/*.c record/*.c attach/*.c)
list(REMOVE_ITEM BRICK_TOOLS_SOURCES ${BRICK_LIB_SOURCES})
file(GLOB BRICK_CLI_SOURCES CONFIGURE_DEPENDS cli/*.c)
file(GLOB BRICK_EXAMPLES CONFIGURE_DEPENDS examples/*.c)

set(BRICK_MODEL_SOURCES demo/gguf_make.c demo/model.c demo/gguf_writer.c demo/gguf_encode.c
  demo/vocab.c)
set(BRICK_LLAMA_SOURCES demo/llama_run.c demo/llama_abi.c)
file(GLOB BRICK_BENCH_SOURCES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS bench/*.c)
