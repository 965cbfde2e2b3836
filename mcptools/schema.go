package mcptools

import (
	"bytes"
	"encoding/json"
)

// A schema is the plain subset of JSON Schema that every client's dialect takes: one type a node, no
// references, no unions.
type schema struct {
	Type                 string     `json:"type,omitempty"` // left out in output schemas where null may stand
	Description          string     `json:"description,omitempty"`
	Enum                 []string   `json:"enum,omitempty"`
	Minimum              *int64     `json:"minimum,omitempty"`
	Maximum              *int64     `json:"maximum,omitempty"`
	Items                *schema    `json:"items,omitempty"`
	Properties           properties `json:"properties,omitzero"`
	Required             []string   `json:"required,omitempty"`
	AdditionalProperties *bool      `json:"additionalProperties,omitempty"`
}

// properties are the members of an object in the order in which they are shown. Nil is no object.
type properties []property

type property struct {
	name   string
	schema schema
}

func (p properties) IsZero() bool { return p == nil }

func (p properties) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, prop := range p {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(encode(prop.name))
		out.WriteByte(':')
		out.Write(encode(prop.schema))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// object returns the schema of an object that has the given properties, and others too if open.
func object(open bool, required []string, props properties) schema {
	return schema{Type: "object", Properties: props, Required: required, AdditionalProperties: &open}
}

// encode returns v as JSON, with <, > and & as they are. It is for values that are known to encode.
func encode(v any) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // recovered by the pipeline, with the stack that says which value it was
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
