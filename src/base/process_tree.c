/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of processes (process_tree.h): each thread has a list of the children that it has forked.
 */
#include "base/process_tree.h"

#include <dirent.h>
#include <stdio.h>

static int add_children_of_thread(
	struct process_tree *tree, pid_t pid, const char *thread, size_t most)
{
	char path[320];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	FILE *in = fopen(path, "re");
	for (int child; in && !error && tree->of.count < most && fscanf(in, "%d", &child) == 1;)
		error = array_push(&tree->of, child);
	if (in)
		fclose(in);
	return error;
}

int process_tree_read(struct process_tree *tree, pid_t root, size_t most)
{
	int error = array_push(&tree->of, root);

	for (size_t i = 0; i < tree->of.count && !error; i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/task", (int)tree->of.items[i]);
		DIR *threads = opendir(path);
		for (struct dirent *entry; threads && !error && (entry = readdir(threads));)
			if (entry->d_name[0] != '.')
				error = add_children_of_thread(
					tree, tree->of.items[i], entry->d_name, most);
		if (threads)
			closedir(threads);
	}
	return error;
}

void process_tree_fini(struct process_tree *tree)
{
	array_fini(&tree->of);
}
