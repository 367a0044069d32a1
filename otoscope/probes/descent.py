"""Gradient descent of logistic probes, compiled: each step passes over its rows once.

A step is bound by memory: gathering a batch, multiplying it and multiplying its transpose reads or
writes it four times. Here a row is read once, for the score and for the gradient, and nothing is
gathered. The interpreter lock is released, so threads run in parallel.
"""

from typing import no_type_check

import numba
import numpy as np

BETAS = (0.9, 0.999)
EPSILON = 1e-8


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
@no_type_check
def descend(
    features, labels, orders, weights, biases, batch_size, learning_rate, weight_decay
):  # pragma: no cover, compiled
    """AdamW on the mean binary cross-entropy of every batch; changes `weights` and `biases`.

    Args:
        features: `(n_items, width)` float32, rows one after the other in memory.
        labels: `(n_items, n_labellings)` float32, 0 or 1. Labellings are independent.
        orders: `(n_epochs, n_items)`, the order of the rows in each epoch.
        weights: `(n_labellings, width)` float32.
        biases: `(n_labellings,)` float32.
        batch_size: Rows a step; the last batch of an epoch may have fewer.
        learning_rate, weight_decay: Of AdamW; biases decay too.

    Source: I. Loshchilov and F. Hutter (2019), https://arxiv.org/abs/1711.05101, algorithm 2.
    """
    n_items, width = features.shape
    n_labellings = weights.shape[0]
    one, keep = np.float32(1), np.float32(1 - learning_rate * weight_decay)
    beta_2 = np.float32(BETAS[1])
    rest_1, rest_2 = np.float32(1 - BETAS[0]), np.float32(1 - BETAS[1])
    epsilon = np.float32(EPSILON)
    # The bias is the last column of gradient and moments.
    gradient = np.zeros((n_labellings, width + 1), np.float32)
    first = np.zeros((n_labellings, width + 1), np.float32)
    second = np.zeros((n_labellings, width + 1), np.float32)
    n_steps = 0
    for epoch in range(orders.shape[0]):
        for begin in range(0, n_items, batch_size):
            end = min(begin + batch_size, n_items)
            gradient[:] = 0
            for place in range(begin, end):
                item = orders[epoch, place]
                row = features[item]
                for k in range(n_labellings):
                    direction, slope = weights[k], gradient[k]
                    score = np.float32(0)
                    for j in range(width):
                        score += row[j] * direction[j]
                    error = one / (one + np.exp(-(score + biases[k]))) - labels[item, k]
                    slope[width] += error
                    for j in range(width):
                        slope[j] += error * row[j]
            n_steps += 1
            step = np.float32(learning_rate / (1 - BETAS[0] ** n_steps))
            unbias = np.float32(np.sqrt(1 - BETAS[1] ** n_steps))
            share = one / np.float32(end - begin)
            for k in range(n_labellings):
                for j in range(width + 1):
                    g = gradient[k, j] * share
                    first[k, j] += (g - first[k, j]) * rest_1
                    second[k, j] = second[k, j] * beta_2 + g * g * rest_2
                    change = step * first[k, j] / (np.sqrt(second[k, j]) / unbias + epsilon)
                    if j < width:
                        weights[k, j] = weights[k, j] * keep - change
                    else:
                        biases[k] = biases[k] * keep - change
