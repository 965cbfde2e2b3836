package demorelay

import (
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux-go/wire"
)

// parse reads a line of a client, either a hello or a request. It is as strict as a relay, which hangs up
// on a line that package wire would still make something of.
func parse(line []byte) (*wire.Hello, *wire.RequestFrame, error) {
	frame, err := wire.Decode(line)
	if err != nil {
		return nil, nil, err
	}
	switch f := frame.(type) {
	case *wire.Hello:
		_, err := check(line, "hello")
		return f, nil, err
	case *wire.RequestFrame:
		if _, unknown := f.Request.(*wire.UnknownOperation); unknown {
			return nil, nil, fmt.Errorf("unknown operation %q", f.Request.OperationName())
		}
		members, err := check(line, "request")
		if err == nil {
			_, err = check(members["request"], f.Request.OperationName())
		}
		return nil, f, err
	default:
		return nil, nil, fmt.Errorf("unknown frame %q", frame.FrameKind())
	}
}

// A member is what a relay insists on where package wire does not.
type member struct {
	key      string
	presence presence
	want     value
}

type presence int

const (
	optional  presence = iota // may be absent or null
	defaulted                 // may be absent, but not null
	required
)

type value struct {
	name string
	fits func(raw json.RawMessage) bool
}

var (
	aString  = value{"a string", is[string]}
	aBoolean = value{"a boolean", is[bool]}
	aCount   = value{"a whole number from 0", is[uint64]}
)

func is[T any](raw json.RawMessage) bool {
	var v *T // stays nil for null
	return json.Unmarshal(raw, &v) == nil && v != nil
}

// strict has the members by kind of frame and, for those of a request, by operation.
var strict = map[string][]member{
	"hello":        {{"schema_version", required, aString}},
	"request":      {{"request_id", optional, aString}, {"namespace", optional, aString}},
	"list":         {{"requester_session", optional, aString}},
	"send":         {{"request_id", optional, aString}, {"broadcast", required, aBoolean}, {"quiet_window_ms", optional, aCount}},
	"look":         {{"lines", optional, aCount}, {"offset", optional, aCount}},
	"raww":         {{"request_id", optional, aString}, {"no_enter", defaulted, aBoolean}},
	"choices_pick": {{"option_id", optional, aString}},
	"new_peer":     {{"scope", optional, aString}, {"output_path", optional, aString}},
}

// check returns the members of an object of that kind.
func check(object []byte, tag string) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	for _, m := range strict[tag] {
		raw, present := members[m.key]
		switch {
		case !present && m.presence != required:
		case string(raw) == "null" && m.presence == optional:
		case !m.want.fits(raw):
			return nil, fmt.Errorf("%s.%s: expected %s", tag, m.key, m.want.name)
		}
	}
	return members, nil
}
