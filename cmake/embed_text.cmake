# SPDX-License-Identifier: Apache-2.0
# Turns a text file into a C file: cmake -D FROM=a.rules -D TO=a.c -D NAME=x -D HEADER=h -P this
file(READ ${FROM} text HEX)
string(LENGTH "${text}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" text "${text}")
file(WRITE ${TO} "/* Made from ${FROM}; do not edit. */\n#include \"${HEADER}\"\n\n"
  "const char ${NAME}_text[] = {\n${text}0};\nconst size_t ${NAME}_bytes = ${bytes};\n")
