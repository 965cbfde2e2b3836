package mcptools

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

type newPeerParams struct {
	PrincipalID text    `json:"principal_id" doc:"who to register: session@bundle, or an id of another namespace"`
	Scope       *string `json:"scope,omitempty" doc:"what the principal may do, in the relay's words"`
	OutputPath  *string `json:"output_path,omitempty" doc:"absolute path of a new file for the key, so that it does not show in the answer"`
}

func (t *Tools) new() tool {
	return tool{
		name:  "new",
		title: "Register a principal",
		description: "Registers a new principal with the relay (command peer) and makes its pre-shared key. Give output_path to have the key written to a file: without it the key is in the answer. " +
			`Example: {"command":"peer","args":{"principal_id":"bob@demo","output_path":"/home/me/bob.psk"}}.`,
		hints: hints{},
		output: properties{
			{"principal_id", schema{Type: "string"}},
			{"principal_type", schema{Type: "string"}},
			{"psk", schema{Description: "the key, or null where it was written to a file"}},
			{"output_path", schema{Description: "the file that holds the key, or null"}},
			{"config_snippet", schema{Description: "where the key belongs"}},
		},
		commands: []command{exchange[newPeerParams, *wire.NewPeerResponse]{
			prefix: "mcp.tool.new.peer",
			check:  newPeerParams.check,
			request: func(s Standing, p newPeerParams) map[string]any {
				return map[string]any{"namespace": optional(s.Bundle), "principal_id": p.PrincipalID, "has_output": p.path() != nil}
			},
			operation: t.newPeer,
			nulls:     []string{"psk", "output_path"},
			review:    reviewNewPeer,
			success: func(_ Standing, r *wire.NewPeerResponse) map[string]any {
				return map[string]any{"principal_id": r.PrincipalID, "principal_type": r.PrincipalType, "written": r.PSK == nil}
			},
		}.command("peer", "registers principal_id and makes its key", map[string]any{"principal_id": "bob@demo", "output_path": "/home/me/bob.psk"})},
	}
}

// checkPrincipal refuses a blank principal.
func checkPrincipal(id text) error {
	if id == "" {
		return refuse(CodeInvalidParams, "args.principal_id is blank: name a principal as session@bundle", map[string]any{"field": "args.principal_id"})
	}
	return nil
}

func (p newPeerParams) check() error {
	if err := checkPrincipal(p.PrincipalID); err != nil {
		return err
	}
	path := p.path()
	switch {
	case path == nil:
		return nil
	case strings.ContainsRune(*path, 0):
		return invalidOutputPath(*path, "it contains a NUL")
	case !filepath.IsAbs(*path):
		return invalidOutputPath(*path, "it is not absolute")
	}
	if name := (*path)[strings.LastIndexByte(*path, filepath.Separator)+1:]; name == "" || name == "." || name == ".." {
		return invalidOutputPath(*path, "it has no file name")
	}
	return nil
}

func invalidOutputPath(path, cause string) error {
	return refuse(CodeInvalidOutputPath,
		fmt.Sprintf("the key can't be written to %q: %s. Nothing was registered; give the absolute path of a new file in an existing directory", path, cause),
		map[string]any{"output_path": path, "cause": cause})
}

// path is where the key is to be written; nil: nowhere.
func (p newPeerParams) path() *string { return unlessBlank(p.OutputPath) }

// newPeer makes the request. A relay of version 0.8 registers the principal before it finds that it can't
// write the file, and the key is lost: so the path is checked first.
func (t *Tools) newPeer(_ Standing, p newPeerParams) (wire.Operation, error) {
	op := &wire.NewPeer{PrincipalID: string(p.PrincipalID), Scope: unlessBlank(p.Scope)}
	if path := p.path(); path != nil {
		if t.cfg.CheckOutputPath != nil {
			if err := t.cfg.CheckOutputPath(*path); err != nil {
				return nil, invalidOutputPath(*path, err.Error())
			}
		}
		op.OutputPath = path
		op.Destination = &wire.Destination{Kind: "path", Path: path}
	}
	return op, nil
}

// reviewNewPeer keeps a key that was to be written to a file from the client, and shows where a newer relay
// wrote it under the name that this surface has for it.
func reviewNewPeer(p newPeerParams, response wire.Raw, a answer) error {
	if p.path() == nil {
		return nil
	}
	if !isNull(a["psk"]) { // nulls has made it null where it was left out
		return &unexpectedResponse{
			message: fmt.Sprintf("the relay registered %s but returned its key instead of writing it to %s. The key was dropped: make a new one with change psk",
				p.PrincipalID, *p.path()),
			raw: response,
		}
	}
	if written, ok := a["written_path"]; ok && isNull(a["output_path"]) {
		a["output_path"] = written
	}
	return nil
}
