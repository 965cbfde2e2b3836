package wire

import "testing"

func TestPrincipalID(t *testing.T) {
	for _, test := range []struct{ session, namespace, want string }{
		{"alpha", "demo", "alpha@demo"},
		{"alpha@other", "demo", "alpha@other"},
		{"operator@GLOBAL", "", "operator@GLOBAL"},
		{"alpha@", "demo", "alpha@"},
		{"qa@lab!west", "demo", "qa@lab!west"},
	} {
		if got := PrincipalID(test.session, test.namespace); got != test.want {
			t.Errorf("%q in %q: got %q, want %q", test.session, test.namespace, got, test.want)
		}
	}
}
