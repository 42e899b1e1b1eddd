package ir_test

import (
	"math/rand"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/ir"
)

// grammar is the EBNF of a document: the tokens of each production.
type grammar map[string][]string

var ebnfToken = regexp.MustCompile(`"[^"]*"|\w+|[{}\[\]()|=.]`)

// readGrammar reads the block of docs/lowering-text.md.
func readGrammar(t *testing.T) grammar {
	t.Helper()
	page, err := os.ReadFile("../../../docs/lowering-text.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "```ebnf\n")
	text, _, _ = strings.Cut(text, "```")
	text = regexp.MustCompile(`\(\*.*?\*\)`).ReplaceAllString(text, "")
	g, name := grammar{}, ""
	tokens := ebnfToken.FindAllString(text, -1)
	for i, token := range tokens {
		switch {
		case i+1 < len(tokens) && tokens[i+1] == "=":
			name = token
		case token == "." || token == "=":
		default:
			g[name] = append(g[name], token)
		}
	}
	require.Greater(t, len(g), 15)
	return g
}

// speaker writes random sentences of a grammar.
type speaker struct {
	grammar
	rnd   *rand.Rand
	words []string
	depth int
}

func (s *speaker) say(name string) {
	switch {
	case name[0] == '"':
		s.words = append(s.words, strings.Trim(name, `"`))
	case name == "Name":
		s.words = append(s.words, []string{"a", "b1", "P", "f32", "_x"}[s.rnd.Intn(5)])
	case name == "Int":
		s.words = append(s.words, []string{"0", "7", "123456"}[s.rnd.Intn(3)])
	case name == "Float":
		s.words = append(s.words, []string{"0.5", "1e-3", "2.0"}[s.rnd.Intn(3)])
	default:
		s.depth++
		s.alternatives(s.grammar[name])
		s.depth--
	}
}

// alternatives says one of them; deep down the one with the fewest tokens.
func (s *speaker) alternatives(tokens []string) {
	choices, level := [][]string{nil}, 0
	for _, token := range tokens {
		switch {
		case strings.ContainsAny(token, "{[(") && token[0] != '"':
			level++
		case strings.ContainsAny(token, "}])") && token[0] != '"':
			level--
		case token == "|" && level == 0:
			choices = append(choices, nil)
			continue
		}
		choices[len(choices)-1] = append(choices[len(choices)-1], token)
	}
	chosen := choices[s.rnd.Intn(len(choices))]
	if s.depth > 12 {
		for _, c := range choices {
			if len(c) < len(chosen) {
				chosen = c
			}
		}
	}
	s.sequence(chosen)
}

func (s *speaker) sequence(tokens []string) {
	for i := 0; i < len(tokens); i++ {
		closing := map[string]string{"{": "}", "[": "]", "(": ")"}[tokens[i]]
		if closing == "" {
			s.say(tokens[i])
			continue
		}
		end, level := i, 0
		for ; ; end++ {
			if tokens[end] == tokens[i] {
				level++
			} else if tokens[end] == closing {
				level--
			}
			if level == 0 {
				break
			}
		}
		times := map[string]int{"{": s.rnd.Intn(3), "[": s.rnd.Intn(2), "(": 1}[tokens[i]]
		if s.depth > 10 && tokens[i] != "(" {
			times = 0
		}
		for range times {
			s.alternatives(tokens[i+1 : end])
		}
		i = end
	}
}

// TestGrammarOfTheDocumentation wants the parser to read what the grammar says, and to
// print it as it was understood.
func TestGrammarOfTheDocumentation(t *testing.T) {
	g := readGrammar(t)
	for name, tokens := range g {
		for _, token := range tokens {
			known := regexp.MustCompile(`^("|[{}\[\]()|]$|(Name|Int|Float|letter|digit)$)`).MatchString(token)
			require.True(t, known || g[token] != nil, "%s: nothing says what %s is", name, token)
		}
	}
	used := 0
	for seed := range int64(3000) {
		s := &speaker{grammar: g, rnd: rand.New(rand.NewSource(seed))}
		s.say("Program")
		text := strings.Join(s.words, " ")
		p, err := ir.Parse(text)
		require.NoError(t, err, text)
		again, err := ir.Parse(ir.Print(p))
		require.NoError(t, err, text)
		require.Equal(t, p, again, text)
		used += len(s.words)
	}
	require.Greater(t, used, 50_000)
}
