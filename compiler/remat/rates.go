package remat

// Measured are the rates that Estimate takes. Behind each class stand how many kernels it was fitted to, and how
// far its predictions of their times are off: in the median, and at most.
//
//	go run ./bench/planner/cost -tl build/tl -rates rates.json
var Measured = &Rates{
	Machine: "AMD EPYC, one thread, 2026-11-24, clang 14",
	Near:    16 << 20,
	Classes: map[Class]Rate{
		Elementwise:    {Call: 0, Byte: 1.1e-11, Far: 1.49e-11, Operation: 2.13e-11},  // 20 kernels; 16 %, 38 %
		Transcendental: {Call: 0, Byte: 3.37e-11, Far: 2.06e-13, Operation: 0},        // 12 kernels; 9 %, 13 %
		Reduction:      {Call: 8.59e-09, Byte: 0, Far: 1.58e-12, Operation: 5.56e-11}, // 12 kernels; 12 %, 83 %
		Softmax:        {Call: 0, Byte: 8.78e-11, Far: 1.03e-12, Operation: 0},        // 4 kernels; 0 %, 0 %
		Normalise:      {Call: 0, Byte: 4.14e-11, Far: 0, Operation: 0},               // 4 kernels; 3 %, 3 %
		MatMul:         {Call: 0, Byte: 1.56e-11, Far: 0, Operation: 1.15e-11},        // 22 kernels; 15 %, 52 %
		Conv:           {Call: 0, Byte: 4.21e-11, Far: 0, Operation: 1.01e-11},        // 10 kernels; 9 %, 30 %
		WideConv:       {Call: 0, Byte: 2.05e-09, Far: 0, Operation: 0},               // 3 kernels; 16 %, 43 %
		Pool:           {Call: 0, Byte: 0, Far: 4.08e-12, Operation: 6.1e-11},         // 8 kernels; 16 %, 16 %
		Move:           {Call: 0, Byte: 1.79e-11, Far: 4.98e-11, Operation: 0},        // 4 kernels; 53 %, 57 %
		Turn:           {Call: 0, Byte: 7.25e-11, Far: 9.84e-11, Operation: 0},        // 4 kernels; 45 %, 53 %
	},
}
