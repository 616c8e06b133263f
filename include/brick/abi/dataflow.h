/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node's result each node works on (`brick record --graph`). The recording's code area holds
 * one text for each kind of graph, under the path BRICK_DATAFLOW_PATH. A line is one pair of nodes:
 * operation and name of the producer, then operation and name of the consumer, parted by tabs.
 * They equal `operation` and `label` of the nodes' sites. A view computes nothing: the line names
 * the node that computed the view's contents. Frozen: recordings hold such texts.
 */
#ifndef BRICK_ABI_DATAFLOW_H
#define BRICK_ABI_DATAFLOW_H

#define BRICK_DATAFLOW_PATH "brick-dataflow"

#endif
