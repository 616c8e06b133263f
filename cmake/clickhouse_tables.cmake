# SPDX-License-Identifier: Apache-2.0
# Makes a C string of statements of SQL, without their comments: cmake -DIN=FILE -DOUT=FILE -P this
file(READ ${IN} text)
string(REGEX REPLACE "--[^\n]*\n" "" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
file(WRITE ${OUT} "extern const char clickhouse_tables[];\n\nconst char clickhouse_tables[] =\n\t\"${text}\";\n")
