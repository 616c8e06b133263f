-- SPDX-License-Identifier: Apache-2.0
-- The tables of a history of brick (docs/HISTORY.md): run it once in a database of its own:
--   clickhouse-client --database brick --multiquery <tables.sql
-- The program makes them itself where they are missing and it may. Runs on ClickHouse 18.16 and later.

CREATE TABLE IF NOT EXISTS runs
(
    id String, day Date, start_ns UInt64, kind String, host String, cpu String, engine String, version String,
    command String, path String, batch String, model String, workload String DEFAULT replaceRegexpAll(command, '[^ ]*/', ''),
    rank Int32 DEFAULT -1, wall_ns UInt64, ttft_ns UInt64, exit_code Int32, value Float64,
    fact_keys Array(String), fact_values Array(String)
) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (start_ns, id);

-- By part first: a trend is one range of it.
CREATE TABLE IF NOT EXISTS parts
(
    id String, day Date, start_ns UInt64, run_kind String, host String, engine String, workload String,
    rank Int32 DEFAULT -1, phase String, kind String, name String, count UInt64, tokens UInt64, total_ns UInt64,
    typical_tokens UInt64, typical_ns UInt64, united Float64, buckets Array(UInt16), bucket_counts Array(UInt64)
) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (phase, kind, name, start_ns, id);

-- The same by run first: some runs, whole.
CREATE TABLE IF NOT EXISTS parts_by_run
(
    id String, day Date, start_ns UInt64, run_kind String, host String, engine String, phase String, kind String,
    name String, count UInt64, tokens UInt64, total_ns UInt64, typical_tokens UInt64, typical_ns UInt64,
    united Float64, buckets Array(UInt16), bucket_counts Array(UInt64)
) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (start_ns, id, phase, kind, name);

CREATE MATERIALIZED VIEW IF NOT EXISTS parts_to_runs TO parts_by_run AS
SELECT id, day, start_ns, run_kind, host, engine, phase, kind, name, count, tokens, total_ns, typical_tokens,
    typical_ns, united, buckets, bucket_counts
FROM parts;

-- The newest row of a label decides.
CREATE TABLE IF NOT EXISTS labels
(
    id String, label String, present UInt8, at UInt64
) ENGINE = ReplacingMergeTree(at) ORDER BY (label, id);

-- Which tables these are; the program writes it when they are complete (clickhouse.c).
CREATE TABLE IF NOT EXISTS brick_schema
(
    version UInt32
) ENGINE = MergeTree PARTITION BY version ORDER BY version;

-- Sums by hour, day and month of all runs but windows; columns that end in Map are added up by key.
CREATE TABLE IF NOT EXISTS hours
(
    day Date, hour DateTime, host String, engine String, phase String, kind String, name String, runs UInt64,
    count UInt64, tokens UInt64, total_ns UInt64, typical_tokens UInt64, typical_ns UInt64,
    histogramMap Nested(bucket UInt16, count UInt64)
) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (phase, kind, name, host, engine, hour, day);

CREATE TABLE IF NOT EXISTS days
(
    day Date, host String, engine String, phase String, kind String, name String, runs UInt64,
    count UInt64, tokens UInt64, total_ns UInt64, typical_tokens UInt64, typical_ns UInt64,
    histogramMap Nested(bucket UInt16, count UInt64)
) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (phase, kind, name, host, engine, day);

-- Sums by month, for questions without a workload: few rows for many runs.
CREATE TABLE IF NOT EXISTS months
(
    month Date, run_kind String, host String, engine String, phase String, kind String, name String, runs UInt64,
    count UInt64, tokens UInt64, total_ns UInt64, typical_tokens UInt64, typical_ns UInt64,
    histogramMap Nested(bucket UInt16, count UInt64)
) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(month) ORDER BY (phase, kind, name, host, engine, run_kind, month);

-- Sums of windows by hour, for questions about a fleet (`brick fleet`): workloads lie apart.
CREATE TABLE IF NOT EXISTS fleet
(
    day Date, hour DateTime, workload String, host String, rank Int32, engine String, phase String, kind String,
    name String, runs UInt64, count UInt64, tokens UInt64, total_ns UInt64, typical_tokens UInt64, typical_ns UInt64,
    histogramMap Nested(bucket UInt16, count UInt64)
) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day)
    ORDER BY (workload, kind, phase, name, hour, host, rank, engine, day);

CREATE MATERIALIZED VIEW IF NOT EXISTS parts_to_fleet TO fleet AS
SELECT day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, workload, host, rank, engine, phase, kind,
    name, toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns,
    buckets AS `histogramMap.bucket`, bucket_counts AS `histogramMap.count`
FROM parts WHERE run_kind = 'window';

CREATE MATERIALIZED VIEW IF NOT EXISTS parts_to_hours TO hours AS
SELECT day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns,
    buckets AS `histogramMap.bucket`, bucket_counts AS `histogramMap.count`
FROM parts WHERE run_kind != 'window';

CREATE MATERIALIZED VIEW IF NOT EXISTS parts_to_days TO days AS
SELECT day, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns,
    buckets AS `histogramMap.bucket`, bucket_counts AS `histogramMap.count`
FROM parts WHERE run_kind != 'window';

CREATE MATERIALIZED VIEW IF NOT EXISTS parts_to_months TO months AS
SELECT toStartOfMonth(day) AS month, run_kind, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns,
    buckets AS `histogramMap.bucket`, bucket_counts AS `histogramMap.count`
FROM parts WHERE run_kind != 'window';
