-- SPDX-License-Identifier: Apache-2.0
-- How long a history is kept, for ClickHouse 19.6 and later (18.16 has no TTL: drop partitions there, or nothing).
-- Runs for half a year, sums by hour for two years, sums by day for ever.

ALTER TABLE runs MODIFY TTL day + INTERVAL 6 MONTH;
ALTER TABLE parts MODIFY TTL day + INTERVAL 6 MONTH;
ALTER TABLE hours MODIFY TTL day + INTERVAL 24 MONTH;
