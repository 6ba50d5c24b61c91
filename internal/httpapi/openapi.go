package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/vocabulary"
)

// schemasPrefix is where OpenAPI keeps schemas.
const schemasPrefix = "#/components/schemas/"

// documentIntroduction is what one has to know of all endpoints.
const documentIntroduction = `Takes a payment request once, charges it once, and tells everyone once.

**Keys.** Requests that move money carry an ` + "`Idempotency-Key`" + `: new for each intent, the same for each repeat. The same key with the
same request gets the first one's payment, and its stored answer byte for byte once that is final. The same key with another
request is refused. Only requests that were taken on store their key.

**Open is not failed.** A payment that is not ` + "`captured`, `failed` or `canceled`" + ` is being worked on or checked. Ask again; do not
pay elsewhere.

**Problems.** Every answer that is not what was asked for is an ` + "`application/problem+json`" + ` document (RFC 9457) with a stable
` + "`type`" + `. Its member ` + "`retryable`" + ` says whether the very same request, with the same key, can succeed later. A path answers other
methods with 405 and the header ` + "`Allow`" + `. What is not HTTP at all is refused in plain text.`

// documentation builds the document from the table of routes.
type documentation struct {
	schemas  *vocabulary.Schemas
	document *huma.OpenAPI
}

// Document describes the API in OpenAPI 3.1: every route, and nothing else. It
// returns an error that names what a route says of itself and no table explains.
func Document() (*huma.OpenAPI, error) {
	d := documentation{schemas: vocabulary.New(schemasPrefix), document: &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "payonce", Version: "1.0.0", Description: documentIntroduction,
			License: &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		Servers:  []*huma.Server{{URL: "/", Description: "Where this document was read."}},
		Security: []map[string][]string{{securityName: {}}},
		Tags:     tags,
		Paths:    map[string]*huma.PathItem{},
		Components: &huma.Components{
			SecuritySchemes: map[string]*huma.SecurityScheme{securityName: {
				Type: "http", Scheme: "bearer", Description: "A merchant's API key.",
			}},
			Parameters: map[string]*huma.Param{},
			Headers:    map[string]*huma.Header{},
		},
	}}
	for _, r := range routes() {
		if err := d.add(r); err != nil {
			return nil, fmt.Errorf("describing %s %s: %w", r.method, r.path, err)
		}
	}
	registry, err := d.schemas.Registry()
	if err != nil {
		return nil, err
	}
	d.document.Components.Schemas = registry
	return d.document, nil
}

// securityName is the name of the security scheme.
const securityName = "apiKey"

// add describes one route.
func (d *documentation) add(r route) error {
	operation := &huma.Operation{
		OperationID: r.about.id, Summary: r.about.summary, Description: r.about.description,
		Tags: []string{r.about.tag}, Responses: map[string]*huma.Response{},
	}
	if err := d.addParameters(operation, r.about); err != nil {
		return err
	}
	if r.about.noAPIKey {
		operation.Security = []map[string][]string{{}} // none is enough
	}
	if r.about.body != nil {
		operation.RequestBody = d.body(r.about.body)
	}
	for _, answer := range r.about.answers {
		if err := d.addAnswer(operation, answer); err != nil {
			return err
		}
	}
	for _, p := range append(commonProblems(r.about), r.about.problems...) {
		d.addProblem(operation, p)
	}
	return d.place(r, operation)
}

// place puts an operation where its method and path say.
func (d *documentation) place(r route, operation *huma.Operation) error {
	item := d.document.Paths[r.path]
	if item == nil {
		item = &huma.PathItem{}
		d.document.Paths[r.path] = item
	}
	switch r.method {
	case http.MethodGet:
		item.Get = operation
	case http.MethodPost:
		item.Post = operation
	default:
		return fmt.Errorf("no place for the method %s", r.method)
	}
	return nil
}

// addParameters adds the parameters that a route names, and the key's.
func (d *documentation) addParameters(operation *huma.Operation, about about) error {
	wanted := about.parameters
	if about.keyed {
		wanted = append(slices.Clone(wanted), idempotencyKey)
		operation.Extensions = map[string]any{"x-idempotency-required": true}
	}
	for _, name := range wanted {
		parameter, ok := parameters[name]
		if !ok {
			return fmt.Errorf("the parameter %q is not in the table", name)
		}
		d.document.Components.Parameters[name] = &parameter
		operation.Parameters = append(operation.Parameters, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	return nil
}

// body describes what a request brings.
func (d *documentation) body(value any) *huma.RequestBody {
	media := &huma.MediaType{Schema: &huma.Schema{}}
	name := "*/*"
	if _, free := value.(anything); !free {
		name, media = "application/json", &huma.MediaType{Schema: d.schemas.Taken(value), Examples: requestExamples(value)}
	}
	_, none := value.(noBody)
	return &huma.RequestBody{Required: !none, Content: map[string]*huma.MediaType{name: media}}
}

// addAnswer describes one way in which a request goes well.
func (d *documentation) addAnswer(operation *huma.Operation, answer success) error {
	response := &huma.Response{Description: answer.when, Headers: map[string]*huma.Header{}}
	if answer.body != nil {
		response.Content = map[string]*huma.MediaType{}
		media := answer.media
		if media == "" {
			media = "application/json"
		}
		response.Content[media] = &huma.MediaType{Schema: d.sent(answer.body), Example: answerExample(answer)}
	}
	for _, name := range answer.headers {
		if err := d.addHeader(response, name); err != nil {
			return err
		}
	}
	response.Links = linksOf(answer.body)
	operation.Responses[strconv.Itoa(answer.status)] = response
	return nil
}

// sent describes what an answer brings.
func (d *documentation) sent(body any) *huma.Schema {
	if _, free := body.(anything); free {
		return &huma.Schema{}
	}
	return d.schemas.Sent(body)
}

// addHeader refers to a header of the table.
func (d *documentation) addHeader(response *huma.Response, name string) error {
	header, ok := answerHeaders[name]
	if !ok {
		return fmt.Errorf("the header %q is not in the table", name)
	}
	d.document.Components.Headers[name] = &header
	response.Headers[name] = &huma.Header{Ref: "#/components/headers/" + name}
	return nil
}

// addProblem adds a problem to the answers of its status.
func (d *documentation) addProblem(operation *huma.Operation, p problem.Problem) {
	status := strconv.Itoa(p.Status)
	response := operation.Responses[status]
	if response == nil {
		response = &huma.Response{
			Description: http.StatusText(p.Status) + ":", Headers: map[string]*huma.Header{},
			Content: map[string]*huma.MediaType{problemMedia: {
				Schema: d.schemas.Sent(problem.Document{}), Examples: map[string]*huma.Example{},
			}},
		}
		operation.Responses[status] = response
	}
	response.Description += fmt.Sprintf("\n- `%s%s`: %s. %s", problem.Prefix, p.Name, p.Title, retryText(p))
	response.Content[problemMedia].Examples[p.Name] = &huma.Example{Summary: p.Title, Value: p.Failure("").Document}
	for _, name := range problemHeaders(p) {
		header := answerHeaders[name]
		d.document.Components.Headers[name] = &header
		response.Headers[name] = &huma.Header{Ref: "#/components/headers/" + name}
	}
}

// problemMedia is the media type of problem documents.
const problemMedia = "application/problem+json"

func retryText(p problem.Problem) string {
	if p.Retryable {
		return "Sending the same request again can help."
	}
	return "Sending the same request again does not help."
}
