module kafkalet

go 1.22
