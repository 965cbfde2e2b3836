// Package inscriptions keeps the event log: a file for each session, a JSON object for each event. The
// log is there to find out afterwards what happened; no call waits for it longer than a write takes, and
// none fails because of it.
package inscriptions
