-- SPDX-License-Identifier: Apache-2.0
-- Makes the sums by hour and day anew from the parts: where a server died while it wrote, its sums may lack what
-- the parts have. Nobody should push meanwhile.

TRUNCATE TABLE hours;
TRUNCATE TABLE days;

INSERT INTO hours (day, hour, host, engine, phase, kind, name, runs, count, tokens, total_ns, typical_tokens, typical_ns,
    histogramMap.bucket, histogramMap.count)
SELECT day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts;

INSERT INTO days (day, host, engine, phase, kind, name, runs, count, tokens, total_ns, typical_tokens, typical_ns,
    histogramMap.bucket, histogramMap.count)
SELECT day, host, engine, phase, kind, name,
    toUInt64(1) AS runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets, bucket_counts FROM parts;
