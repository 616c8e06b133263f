-- SPDX-License-Identifier: Apache-2.0
-- How long a history is kept, for ClickHouse 19.6 and later (18.16 has no TTL: `brick history rm --older-than DAYS` removes
-- old months on every server).
-- Runs for half a year, sums by hour for two years, sums by day and month for ever; whole months at once.

ALTER TABLE runs MODIFY TTL toStartOfMonth(day) + INTERVAL 7 MONTH;
ALTER TABLE parts MODIFY TTL toStartOfMonth(day) + INTERVAL 7 MONTH;
ALTER TABLE parts_by_run MODIFY TTL toStartOfMonth(day) + INTERVAL 7 MONTH;
ALTER TABLE fleet MODIFY TTL toStartOfMonth(day) + INTERVAL 25 MONTH;
ALTER TABLE hours MODIFY TTL toStartOfMonth(day) + INTERVAL 25 MONTH;
