// Package trainer knows the programs that are measured: how each is started, and what
// each prints.
//
// It makes command lines, brings the script for the Hugging Face Trainer, and reads final
// metrics, progress and lines out of what a trainer leaves. Running it is left to an
// executor, and why it failed to package outcome.
package trainer
