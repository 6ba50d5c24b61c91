package schema

import "embed"

//go:generate go run ../internal/documents ..

// OpenAPI is the document of the HTTP API, in YAML. It is made from the code.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Events holds events/TYPE.json, the JSON Schema of each type of message on Kafka. They
// are made from the code.
//
//go:embed events/*.json
var Events embed.FS
