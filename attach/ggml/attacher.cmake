# SPDX-License-Identifier: Apache-2.0
# What is injected into programs that use ggml, with its default rules compiled in.
set(rules ${CMAKE_SOURCE_DIR}/rules/ggml-llama.rules)
set(rules_source ${CMAKE_BINARY_DIR}/generated/rule_set_default.c)
add_custom_command(OUTPUT ${rules_source}
  COMMAND ${CMAKE_COMMAND} -D FROM=${rules} -D TO=${rules_source} -D NAME=rule_set_default
    -D HEADER=attach/ggml/rule_set.h -P ${CMAKE_SOURCE_DIR}/attach/ggml/embed_text.cmake
  DEPENDS ${rules} ${CMAKE_SOURCE_DIR}/attach/ggml/embed_text.cmake VERBATIM)
brick_attacher(ggml ${BRICK_GGML_SOURCES} ${BRICK_ATTACH_SOURCES} ${rules_source} NEEDS brick-rules)
# Compilers vectorize its loops from here on.
set_source_files_properties(${CMAKE_SOURCE_DIR}/attach/ggml/mask_count.c PROPERTIES
  COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
