// Package onnxpb is the ONNX file format as protocol buffers.
package onnxpb

// protoc comes with the Python package grpcio-tools.
//
//go:generate sh -c "python3 -m grpc_tools.protoc -I. --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --go_out=. --go_opt=paths=source_relative onnx.proto"
