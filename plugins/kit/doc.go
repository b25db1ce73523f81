// Package kit is the workshop of a plugin's author: a new project, its build, a look into the file, and the test that its
// state converges.
//
// It runs guests as a node does (plugins.Workbench), over logs in memory. It isn't part of a running node.
package kit
