package association

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/mcptools"
)

// An Association is who this process is: a session of a bundle, nobody for a Reason, or nobody for a
// Fault.
type Association struct {
	Roots Roots // as far as they can be told, whatever else is wrong

	Bundle  string // "" where the process is nobody
	Session string // id of a member of the bundle; "" where the process is nobody

	// Reason says why guessing led nowhere. "" where it did not have to, and where there is a fault.
	Reason string
	// Fault is what is wrong with what somebody said or wrote. Nil where nothing is.
	Fault *mcptools.Refusal

	// SoughtBundle and SoughtSession are the names that were looked up, found or not. They are empty where
	// a fault came before.
	SoughtBundle, SoughtSession Name
}

// A Name is the name of a bundle or session.
type Name struct {
	Text    string
	Source  string // what said it, or what it was guessed from
	Guessed bool
}

// said returns a name that source says, empty where it is blank.
func said(text, source string) Name {
	if text = strings.TrimSpace(text); text == "" {
		return Name{}
	}
	return Name{Text: text, Source: source}
}

// introduction begins a sentence about what is wrong with the name of a bundle or session.
func (n Name) introduction(of string) string {
	switch {
	case n.Text == "":
		return fmt.Sprintf("nothing names the %s, there is no working directory to guess it from, and ", of)
	case n.Guessed:
		return fmt.Sprintf("the %s is guessed from %s, and ", of, n.Source)
	default:
		return fmt.Sprintf("the %s is named by %s, and ", of, n.Source)
	}
}

// Resolve finds out who this process is. It looks at the file system and asks Git each time, so that
// what was mended is seen; that takes milliseconds, and at most 2 s where Git hangs.
func Resolve(ctx context.Context, in Input) Association {
	var a Association
	place, placeFault := in.workspace(ctx)
	overrides, err := readOverrides(place.root)
	roots, rootsFault := in.roots(overrides.configRoot)
	a.Roots = roots
	switch {
	case placeFault != nil:
		a.Fault = placeFault
	case err != nil:
		a.Fault = faultOf(err)
	case rootsFault != nil:
		a.Fault = rootsFault
	default:
		a.identify(in, place, overrides)
	}
	return a
}

// identify sets all but the roots.
func (a *Association) identify(in Input, place workspace, overrides associationFile) {
	layered, err := readLayered(a.Roots.Configuration)
	if err != nil {
		a.Fault = faultOf(err)
		return
	}
	a.SoughtBundle = firstOf(said(in.Bundle, in.Flag("bundle")), said(in.getenv(variableBundle), variableBundle),
		overrides.bundle, layered.bundle, place.bundle())
	a.SoughtSession = firstOf(said(in.Session, in.Flag("session-name")), said(in.getenv(variableSession), variableSession),
		overrides.session, layered.session, place.session())

	if a.SoughtBundle.Text == "" {
		a.Reason = "nothing names the bundle, and there is no working directory to guess it from. " + sayWho
		return
	}
	bundle, err := a.Roots.Bundles().Load(a.SoughtBundle.Text)
	if err != nil {
		code, message := described(err)
		if code == mcptools.CodeUnknownBundle {
			message += fmt.Sprintf(" The configuration directory comes from %s.", a.Roots.ConfigurationSource)
		}
		a.refuse(a.SoughtBundle, code, a.SoughtBundle.introduction("bundle")+message)
		return
	}
	session, problem := a.member(bundle, place.directory)
	if problem != "" {
		a.refuse(a.SoughtSession, mcptools.CodeUnknownSender, a.SoughtSession.introduction("session")+problem)
		return
	}
	a.Bundle, a.Session = bundle.Name, session
}

// firstOf returns the first name that is not empty, or the last.
func firstOf(names ...Name) Name {
	if i := slices.IndexFunc(names, func(n Name) bool { return n.Text != "" }); i >= 0 {
		return names[i]
	}
	return names[len(names)-1]
}

// sayWho is the next step of a process that is nobody.
const sayWho = "To say who this is, start the server with --bundle and --session-name."

// refuse keeps what is wrong: as a reason where what was sought is a guess that is not there, else as a
// fault.
func (a *Association) refuse(sought Name, code, cause string) {
	notFound := code == mcptools.CodeUnknownBundle || code == mcptools.CodeUnknownSender
	if sought.Guessed && notFound {
		a.Reason = cause + " " + sayWho
		return
	}
	a.Fault = fault(code, cause, restart)
}
