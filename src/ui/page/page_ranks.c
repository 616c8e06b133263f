/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/page/page_ranks.h"

#include "brick/version.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

int page_ranks_json(json_t **out, const struct ranks_view *view)
{
	json_t *root = json_object();

	json_put(root, "schema", json_text("brick/ranks-page/1"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "head", ranks_lines_to_json(view));
	json_put(root, "ranks", ranks_to_json(view));
	*out = root;
	return text_error();
}
