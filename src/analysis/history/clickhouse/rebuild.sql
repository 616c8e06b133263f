-- SPDX-License-Identifier: Apache-2.0
-- Makes what is made of the parts anew. Nobody should push meanwhile.

TRUNCATE TABLE hours;
TRUNCATE TABLE days;
TRUNCATE TABLE months;
TRUNCATE TABLE fleet;
TRUNCATE TABLE parts_by_run;

INSERT INTO parts_by_run SELECT id, day, start_ns, run_kind, host, engine, phase, kind, name, count, tokens, total_ns,
    typical_tokens, typical_ns, united, buckets, bucket_counts FROM parts;

INSERT INTO months (month, run_kind, host, engine, phase, kind, name, runs, count, tokens, total_ns, typical_tokens,
    typical_ns, histogramMap.bucket, histogramMap.count)
SELECT toStartOfMonth(day) AS month, run_kind, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts
WHERE run_kind != 'window';

INSERT INTO hours (day, hour, host, engine, phase, kind, name, runs, count, tokens, total_ns, typical_tokens, typical_ns,
    histogramMap.bucket, histogramMap.count)
SELECT day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts
WHERE run_kind != 'window';

INSERT INTO days (day, host, engine, phase, kind, name, runs, count, tokens, total_ns, typical_tokens, typical_ns,
    histogramMap.bucket, histogramMap.count)
SELECT day, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts
WHERE run_kind != 'window';

INSERT INTO fleet (day, hour, workload, host, rank, engine, phase, kind, name, runs, count, tokens, total_ns,
    typical_tokens, typical_ns, histogramMap.bucket, histogramMap.count)
SELECT day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, workload, host, rank, engine, phase, kind,
    name, toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts
WHERE run_kind = 'window';
