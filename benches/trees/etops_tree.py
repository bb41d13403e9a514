"""A tree by `etops`, the Python package of einsum_ir: one operation for each permutation and each contraction.

etops has no function for a whole tree. `etops.optimize` optimizes each operation for the orders of dimensions that the tree
states. Operations and buffers are made before the first run, and later runs use the same buffers.
"""

import etops
import numpy as np


class EtopsTree:
    def __init__(self, tree, operands):
        self.sizes = tree.sizes
        self.steps, self.free = [], []
        operands = iter(operands)
        arrays = {}
        for node in tree.nodes():
            if not node.children:
                arrays[id(node)] = next(operands)
                continue
            out = self.buffer(node.labels)
            inputs = [arrays.pop(id(child)) for child in node.children]
            if len(inputs) == 1:
                operation = self.permutation(node.children[0].labels, node.labels)
                self.steps.append((operation, inputs[0], None, out))
            else:
                left, right = node.children
                self.steps.append((self.contraction(left.labels, right.labels, node.labels), *inputs, out))
            arrays[id(node)] = out
            self.free += [given.base for child, given in zip(node.children, inputs) if child.children]
        self.result = out

    def __call__(self):
        for operation, left, right, out in self.steps:
            operation.execute(left, right, out)
        return self.result

    def buffer(self, labels):
        """An array, in the smallest free buffer that is large enough, or in a new one."""
        shape = [self.sizes[label] for label in labels]
        elements = int(np.prod(shape))
        large = [buffer for buffer in self.free if buffer.size >= elements]
        if large:
            buffer = min(large, key=lambda buffer: buffer.size)
            self.free = [other for other in self.free if other is not buffer]
        else:
            buffer = np.empty(elements, np.float32)
        return buffer[:elements].reshape(shape)

    def strides(self, labels, order):
        """The distance in elements between neighbours, for each label of `order`, or 0."""
        distance, found = 1, {}
        for label in reversed(labels):
            found[label], distance = distance, distance * self.sizes[label]
        return tuple(found.get(label, 0) for label in order)

    def permutation(self, given, wanted):
        return self.operation(
            prim_first=etops.prim.none,
            prim_main=etops.prim.copy,
            order=wanted,
            dim_types=[etops.dim.c] * len(wanted),
            tensors=(given, wanted),
        )

    def contraction(self, left, right, out):
        order = (*out, *(label for label in left if label not in out))
        kinds = {(True, True, True): etops.dim.c, (True, False, True): etops.dim.m}
        kinds |= {(False, True, True): etops.dim.n, (True, True, False): etops.dim.k}
        return self.operation(
            prim_first=etops.prim.zero,
            prim_main=etops.prim.gemm,
            order=order,
            dim_types=[kinds[label in left, label in right, label in out] for label in order],
            tensors=(left, right, out),
        )

    def operation(self, prim_first, prim_main, order, dim_types, tensors):
        configuration = etops.TensorOperationConfig(
            data_type=etops.float32,
            prim_first=prim_first,
            prim_main=prim_main,
            prim_last=etops.prim.none,
            dim_types=tuple(dim_types),
            exec_types=(etops.exec.seq,) * len(order),
            dim_sizes=tuple(self.sizes[label] for label in order),
            strides=(tuple(self.strides(labels, order) for labels in tensors),),
        )
        try:
            return etops.TensorOperation(etops.optimize(configuration))
        except RuntimeError:
            # LIBXSMM does not have all of the products of packed matrices that the optimizer chooses.
            settings = etops.backend.tpp.get_default_optimization_config()
            return etops.TensorOperation(etops.optimize(configuration, {**settings, "packed_gemm_support": False}))
