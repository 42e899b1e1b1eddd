// Package schema is the TensorFlow Lite file format as flatbuffers.
package schema

// flatc is in the Debian package flatbuffers-compiler.
//
//go:generate flatc --go -o .. model.fbs
