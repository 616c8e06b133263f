# SPDX-License-Identifier: Apache-2.0
# What is injected into programs that use HIP. Needs nothing of ROCm.
brick_attacher(hip ${BRICK_HIP_SOURCES} NEEDS Threads::Threads)
