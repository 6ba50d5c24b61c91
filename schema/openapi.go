package schema

import _ "embed"

//go:generate go run ../internal/documents ..

// OpenAPI is the document of the HTTP API, in YAML. It is made from the code.
//
//go:embed openapi.yaml
var OpenAPI []byte
