/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page says of the machine: bricks under its ceilings, where they have been measured, and
 * tiles, where they were recorded. Called by page.c.
 */
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/page/page.h"
#include "ui/text/roofline_view.h"
#include "ui/text/tiles_view.h"

json_t *page_roofline(const struct page *page)
{
	const struct ceilings *ceilings = page->ceilings;
	const struct roofline_view view = {page->roofline, ceilings ? page->ceilings_path : NULL,
		ceilings ? roofline_doubt(ceilings, page->run) : NULL, ROOFLINE_ALL_PHASES};
	return roofline_to_json(&view);
}

json_t *page_tiles(const struct page *page)
{
	struct tiles *tiles;
	if (!page->run->tile_count)
		return json_null();
	if (tiles_create(&tiles, page->run, -1) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its tiles", page->run->path);
	const struct tiles_view view = {.run = page->run, .tiles = tiles};
	json_t *object = tiles_to_json(&view);
	tiles_destroy(tiles);
	return object;
}
