// Command doccheck holds the documentation to what it documents:
//
//   - a block of code below `<!-- file: PATH -->` is that file;
//   - links inside the repository lead somewhere, headings included;
//   - names that begin with tl_ or TL_ exist;
//   - the functions that the TL compiler declares are ours, or docs/start-tl-compiler.md says how they differ;
//   - the options in docs/options.md are those of package config, with their defaults;
//   - the statuses in docs/errors.md are those of the interface;
//   - README's figures are those of bench/RESULTS.md;
//   - everything that docs/start-*.md show is tried.
//
// Its tests also build and run the examples, compare what they print with the blocks
// below `<!-- output: PATH -->`, and run the commands of docs/start-*.md.
//
//	go run ./tools/doccheck          tells what is wrong
//	go run ./tools/doccheck -write   copies files and figures into README first
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	write := flag.Bool("write", false, "copy files and figures into the documents first")
	flag.Parse()
	if *write {
		if err := refresh(*root); err != nil {
			fmt.Fprintln(os.Stderr, "doccheck:", err)
			os.Exit(1)
		}
	}
	faults := check(*root)
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "doccheck: "+f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// check returns everything that is wrong with the documents below root.
func check(root string) []string {
	docs, err := load(root)
	if err != nil {
		return []string{err.Error()}
	}
	known, err := knownNames(root)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for _, d := range docs {
		faults = append(faults, d.checkFiles(root)...)
		faults = append(faults, d.checkLinks(root, docs)...)
		names := known
		if d.path == compilerPage {
			names = withDeclarations(known, root)
		}
		faults = append(faults, d.checkNames(names)...)
		faults = append(faults, d.checkSteps()...)
	}
	faults = append(faults, checkDeclarations(docs[compilerPage], root)...)
	faults = append(faults, checkOptions(docs["docs/options.md"])...)
	faults = append(faults, checkStatuses(docs["docs/errors.md"], root)...)
	return append(faults, checkFigures(docs["README.md"], root)...)
}
