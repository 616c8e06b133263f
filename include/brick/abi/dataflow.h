/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes whose results each node works on (`brick record --graph`): one text per kind of graph,
 * kept in the recording's code area under the path BRICK_DATAFLOW_PATH. A line per pair: operation
 * and name of the node that produces, then of the one that consumes, with tabs between; those are
 * the operation and label of their sites. Nodes that compute nothing (views) are looked through.
 */
#ifndef BRICK_ABI_DATAFLOW_H
#define BRICK_ABI_DATAFLOW_H

#define BRICK_DATAFLOW_PATH "brick-dataflow"

#endif
