package relaytest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Script is what a [Relay] plays. It does not change, and any number of relays can play it.
type Script struct {
	name     string
	sections []*section
	serve    bool // the last section is for all further connections too
}

// A section is what is played on one connection.
type section struct {
	line  int // where it begins
	last  int // its last line
	steps []step
}

// section returns what the nth connection plays, counted from 1; nil if the script does not have it.
func (s *Script) section(n int) *section {
	switch {
	case n <= len(s.sections):
		return s.sections[n-1]
	case s.serve:
		return s.sections[len(s.sections)-1]
	default:
		return nil
	}
}

// Parse reads a script. The package comment describes its form; name is for errors, which are of type
// [*Error].
func Parse(name string, text []byte) (*Script, error) {
	p := parser{script: &Script{name: name}}
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.parseLine(n, line); err != nil {
			return nil, &Error{Script: name, Line: n, Problem: err.Error()}
		}
	}
	if p.group != nil {
		return nil, &Error{Script: name, Line: p.opened, Problem: "{ without }"}
	}
	return p.script, nil
}

type parser struct {
	script *Script
	group  *expect         // the group that is open, or nil
	opened int             // its line
	bound  map[string]bool // names bound on this connection
	over   string          // what this connection ended with; "" while lines can follow
	mute   bool            // after half-close
}

func (p *parser) parseLine(n int, line string) error {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	if p.group != nil && word != ">" && word != "}" {
		return errors.New("only > lines can stand between { and }")
	}
	switch word {
	case "connection", "serve":
		return p.begin(n, word, arg)
	case "}":
		return p.endGroup(arg)
	}
	if p.over != "" {
		return fmt.Errorf("nothing can follow %s on a connection", p.over)
	}
	if len(p.script.sections) == 0 {
		p.add(n)
	}
	section := p.script.sections[len(p.script.sections)-1]
	section.last = n
	s, err := p.parseStep(n, word, arg)
	if err != nil {
		return err
	}
	if s != nil {
		section.steps = append(section.steps, s)
	}
	return nil
}

// begin begins the lines of another connection.
func (p *parser) begin(n int, word, arg string) error {
	if arg != "" {
		return unwanted(word, arg)
	}
	if p.script.serve {
		return errors.New("serve is for all further connections: none can follow")
	}
	p.script.serve = word == "serve"
	p.add(n)
	return nil
}

func (p *parser) add(n int) {
	p.script.sections = append(p.script.sections, &section{line: n, last: n})
	p.bound, p.over, p.mute = make(map[string]bool), "", false
}

func (p *parser) endGroup(arg string) error {
	switch {
	case arg != "":
		return unwanted("}", arg)
	case p.group == nil:
		return errors.New("} without {")
	case len(p.group.patterns) == 0:
		return errors.New("nothing between { and }")
	}
	p.group = nil
	return nil
}

// parseStep reads one line of a connection. The step is nil where the line adds none.
func (p *parser) parseStep(n int, word, arg string) (step, error) {
	switch word {
	case ">":
		return p.parseExpect(n, arg)
	case "<", "<*", "<<", "<<*":
		return p.parseSay(n, word, arg)
	case "pause":
		wait, err := parseDuration(arg)
		return &pause{n, wait}, err
	case "stall":
		if arg == "" {
			p.over = "a stall without end"
			return &stall{n, 0}, nil
		}
		wait, err := parseDuration(arg)
		return &stall{n, wait}, err
	case "{", "silence", "...", "half-close", "hangup":
		if arg != "" {
			return nil, unwanted(word, arg)
		}
		return p.parseBare(n, word), nil
	default:
		return nil, fmt.Errorf("unknown word %s", word)
	}
}

// parseBare reads a line that is one word. The step is nil for hangup, as the end of the steps does that.
func (p *parser) parseBare(n int, word string) step {
	switch word {
	case "{":
		p.group, p.opened = &expect{}, n
		return p.group
	case "half-close":
		p.mute = true
		return halfClose{}
	case "hangup":
		p.over = word
		return nil
	default: // silence
		p.over = word
		return &silence{n}
	}
}

func (p *parser) parseExpect(n int, arg string) (step, error) {
	value, err := decode(arg)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	variables(value, func(name string) { p.bound[name] = true })
	line := &pattern{line: n, text: arg, value: value}
	if p.group != nil {
		p.group.patterns = append(p.group.patterns, line)
		return nil, nil
	}
	return &expect{[]*pattern{line}}, nil
}

func (p *parser) parseSay(n int, word, arg string) (step, error) {
	if p.mute {
		return nil, errors.New("nothing can be said after half-close")
	}
	s := &say{at: n, times: 1}
	if strings.HasSuffix(word, "*") {
		var number string
		number, arg, _ = strings.Cut(arg, " ")
		times, err := strconv.Atoi(number)
		if err != nil || times < 1 {
			return nil, fmt.Errorf("%s needs a number of times from 1 and what to say", word)
		}
		s.times, arg = times, strings.TrimSpace(arg)
	}
	if strings.HasPrefix(word, "<<") {
		text, err := strconv.Unquote(arg)
		if err != nil || arg[0] == '\'' {
			return nil, fmt.Errorf("%s needs a text quoted as in Go", word)
		}
		s.text = parseTemplate(text)
	} else {
		if _, err := decode(arg); err != nil {
			return nil, fmt.Errorf("not JSON, which << is for: %w", err)
		}
		s.text = parseTemplate(arg + "\n")
	}
	for _, piece := range s.text {
		if piece.name != "" && !p.bound[piece.name] {
			return nil, fmt.Errorf(`no > line above on this connection binds "$%s"`, piece.name)
		}
	}
	return s, nil
}

func parseDuration(arg string) (time.Duration, error) {
	d, err := time.ParseDuration(arg)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time to wait, such as 150ms", arg)
	}
	return d, nil
}

func unwanted(word, arg string) error {
	return fmt.Errorf("%s stands alone, got %q after it", word, arg)
}
