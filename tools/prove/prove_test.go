package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClaimsAreRead(t *testing.T) {
	c, ok := parseClaim("proof: 931840 calls of the matrix tried, 2 failed, 12 skipped: both paths: all")
	require.True(t, ok)
	assert.Equal(t, claim{Unit: "calls of the matrix", Tried: 931840, Failed: 2, Skipped: 12,
		Detail: "both paths: all"}, c)
	c, ok = parseClaim("proof: 7 forks tried, 0 failed")
	require.True(t, ok)
	assert.Equal(t, claim{Unit: "forks", Tried: 7}, c)
	c, ok = parseClaim("104 checks passed")
	require.True(t, ok)
	assert.Equal(t, claim{Unit: "checks", Tried: 104}, c)
	c, ok = parseClaim("3 of 104 checks failed")
	require.True(t, ok)
	assert.Equal(t, claim{Unit: "checks", Tried: 104, Failed: 3}, c)
	_, ok = parseClaim("proof: nothing")
	assert.False(t, ok)
}

func script(t *testing.T, body string) (options, part, run) {
	path := filepath.Join(t.TempDir(), "program.sh")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755))
	r := run{Name: "script", Command: []string{path}}
	return options{build: t.TempDir(), scale: 0.5, seed: 3}, part{Name: "p", Runs: []run{r}}, r
}

func TestAProgramThatTriedNothingIsBad(t *testing.T) {
	for body, bad := range map[string]bool{
		"echo proof: 3 things tried, 0 failed":         false,
		"echo proof: 3 things tried, 1 failed":         true,
		"echo proof: 0 things tried, 0 failed":         true,
		"echo proof: 3 things tried, 0 failed; exit 1": true,
		"true":                                true,
		"kill -9 $$":                          true,
		"exit 77":                             true,
		"echo skip: no such machine; exit 77": false,
		"echo proof: $PROVE_SEED $BUILD tried, 0 failed": false,
	} {
		o, p, r := script(t, body)
		assert.Equal(t, bad, o.run(p, r).bad(), body)
	}
}

// A sample of each part runs, and what a part runs of tests_c is there.
func TestPartsRunWhatIsThere(t *testing.T) {
	for _, p := range parts {
		assert.False(t, p.Runs[0].Whole, p.Name)
		for _, r := range p.Runs {
			if name, isTest := strings.CutSuffix(r.Command[0], "_test"); isTest {
				assert.FileExists(t, "../../tests_c/"+name+"_test.c")
			}
		}
	}
}

func TestResultsAreKept(t *testing.T) {
	o, p, r := script(t, "echo proof: 3 things tried, 0 failed: ok")
	known, err := readResults(o.build)
	require.NoError(t, err)
	known.Runs["p/script"] = o.run(p, r)
	require.NoError(t, known.write(o.build))
	again, err := readResults(o.build)
	require.NoError(t, err)
	assert.Equal(t, known.Runs["p/script"].Claims, again.Runs["p/script"].Claims)
	assert.Contains(t, rows(r, again.Runs["p/script"]), "| script | 3 things | 0 | 0 |")
}

func TestAProgramAndItsChildrenClaimTogether(t *testing.T) {
	o, p, r := script(t, "echo 3 checks passed; echo 1 of 4 checks failed; echo proof: 2 things tried, 0 failed")
	assert.Equal(t, []claim{{Unit: "checks", Tried: 7, Failed: 1}, {Unit: "things", Tried: 2}}, o.run(p, r).Claims)
}

func TestPartsAreChosenByName(t *testing.T) {
	all := []part{{Name: "a", Runs: []run{{Name: "x"}, {Name: "y"}}}, {Name: "b", Runs: []run{{Name: "x"}}}}
	chosen, err := choose(all, "b,a")
	require.NoError(t, err)
	assert.Equal(t, all, chosen)
	chosen, err = choose(all, "a/y,b")
	require.NoError(t, err)
	assert.Equal(t, []part{{Name: "a", Runs: all[0].Runs[1:]}, all[1]}, chosen)
	for _, wrong := range []string{"c", "a,b/y", "a,"} {
		_, err = choose(all, wrong)
		assert.Error(t, err, wrong)
	}
}
