package wire_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

func ExampleEncode() {
	line, err := wire.Encode(&wire.RequestFrame{
		RequestID: "1",
		Namespace: "demo",
		Request:   &wire.Look{RequesterSession: "alpha", TargetSession: "bravo@demo"},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, _ = os.Stdout.Write(line)
	// Output: {"frame":"request","request_id":"1","namespace":"demo","request":{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":null}}
}

func ExampleDecode() {
	stream := strings.NewReader(`{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
{"frame":"response","response":{"kind":"error","error":{"code":"runtime_bundle_reloaded","message":"the bundle was reloaded"}}}
`)
	lines := wire.NewLineReader(stream, 0)
	for {
		line, err := lines.ReadLine()
		if err != nil {
			break // io.EOF, or why the stream broke
		}
		frame, err := wire.Decode(line)
		if err != nil {
			log.Fatal(err)
		}
		switch f := frame.(type) {
		case *wire.HelloAck:
			fmt.Println("welcome,", f.PrincipalID)
		case *wire.ResponseFrame:
			if refusal, ok := f.Response.(*wire.ErrorResponse); ok {
				fmt.Println(&refusal.Error)
			}
		}
	}
	// Output:
	// welcome, alpha@demo
	// relay: runtime_bundle_reloaded: the bundle was reloaded
}
