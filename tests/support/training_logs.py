"""What Caffe and TensorFlow-Slim print while they train."""

CAFFE_LOG = """\
Log file created at: 2017/12/22 10:11:12
I1222 10:11:12.341   1234 caffe.cpp:218] Use CPU.
I1222 10:11:12.345   1234 solver.cpp:48] Initializing solver from parameters:
I1222 10:11:13.101   1234 solver.cpp:239] Iteration 0 (-1.4013e-45 iter/s, 0.091s/1 iters), loss = 7.01242
I1222 10:11:13.102   1234 solver.cpp:258]     Train net output #0: loss = 7.01242 (* 1 = 7.01242 loss)
I1222 10:11:13.292   1234 solver.cpp:239] Iteration 1 (5.23 iter/s, 0.191s/1 iters), loss = 6.5
I1222 10:11:13.293   1234 sgd_solver.cpp:112] Iteration 1, lr = 0.01
I1222 10:11:13.792   1234 solver.cpp:239] Iteration 2 (2 iter/s, 0.5s/1 iters), loss = 3.25e-05
I1222 10:11:14.042   1234 solver.cpp:239] Iteration 3 (4 iter/s, 0.25s/1 iters), loss = -0.125
I1222 10:11:14.050   1234 solver.cpp:331] Iteration 4, loss = -0.13
"""  # noqa: E501 (as the library prints it)

TENSORFLOW_LOG = """\
INFO:tensorflow:Starting Session.
INFO:tensorflow:global_step/sec: 0
INFO:tensorflow:global step 1: loss = 7.8125 (3.5 sec/step)
INFO:tensorflow:Recording summary at step 1.
INFO:tensorflow:global step 2: loss = 6.2500 (0.750 sec/step)
INFO:tensorflow:global step 3: loss = 5.0000 (0.500 sec/step)
INFO:tensorflow:Stopping Training.
"""
