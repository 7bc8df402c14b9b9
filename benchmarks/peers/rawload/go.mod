module kafkalet/benchmarks/peers/rawload

go 1.22
