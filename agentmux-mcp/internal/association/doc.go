// Package association finds out which session of which bundle this process is, and which directories it
// shares with the relay.
//
// What the user said wins: flags, then the environment, then association files. What nobody said is
// guessed from the Git worktree that the process was started in, and from the directories of the bundle's
// members. A name that somebody said and that does not exist is a fault, never a reason to guess: the
// guess could be somebody else. A guess that leads nowhere is none: the process then is nobody.
package association
