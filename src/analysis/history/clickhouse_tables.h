/* SPDX-License-Identifier: Apache-2.0 */
/* src/analysis/history/clickhouse/tables.sql, as the build puts it into the program. */
#pragma once

extern const char clickhouse_tables[];
