raise ImportError('nothing for CUDA may import tvm')
