// Package view says how a row of a table is told to people, alike in the terminal, in
// Markdown, on the page and in pictures.
//
// It has the choice of the memory that stands for an experiment (memory.go), the words for
// its method and its end (words.go), the names that tell rows apart (names.go), the
// settings that differ between rows and those that do not (settings.go), and the unit that
// memory is shown in (unit.go). How a table is laid out is left to the packages that make
// one.
package view
