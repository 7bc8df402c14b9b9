module example.com/orders

go 1.26.0

require (
	github.com/twmb/franz-go v1.22.2
	kafkalet v0.0.0
)

replace kafkalet => ../../clients/go
